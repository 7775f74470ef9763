# The same sum in the ways that people write it.
import torch
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
ema = None
a = torch.zeros((), device="cuda")
b = torch.zeros((), device="cuda")
c = torch.zeros((), device="cuda")
d = torch.zeros((), device="cuda")
for x in loader:
    loss = net(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema = loss if ema is None else 0.99 * ema + 0.01 * loss  # want: leak/loss-with-graph
    a = a.add(loss)  # want: leak/loss-with-graph
    b.add_(loss)  # want: leak/loss-with-graph
    c = torch.add(c, loss)  # want: leak/loss-with-graph
    d.add_(loss.detach())
    names = set()
    names.add(x)
