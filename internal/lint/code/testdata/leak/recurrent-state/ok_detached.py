import torch
from torch import nn
from model import RNNModel


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


model = RNNModel().cuda()
opt = torch.optim.SGD(model.parameters(), 1)
hidden = model.init_hidden(20)
for data, targets in loader:
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    nn.functional.cross_entropy(output, targets).backward()
    opt.step()
    opt.zero_grad()

state = None
for data, targets in loader:
    output, state = model(data, state)
    nn.functional.cross_entropy(output, targets).backward()
    opt.step()
    opt.zero_grad()
    state = state.detach()

for data, targets in loader:
    output, hidden = model(data, hidden)
    nn.functional.cross_entropy(output, targets).backward()
    opt.step()
    opt.zero_grad()
    hidden.detach_()

for data, targets in loader:
    output, state = model(data, state.detach())
    nn.functional.cross_entropy(output, targets).backward()
    opt.step()
    opt.zero_grad()
