import torch
from collections import deque
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
losses, values, outs, recent = [], [], [], deque(maxlen=100)
last = {}
for x, y in loader:
    out = net(x)
    loss = torch.nn.functional.mse_loss(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    values.append(float(loss))
    losses += [loss.detach()]
    outs.extend(out.argmax(1).tolist())
    outs.append(out.detach().cpu().numpy())
    recent.append(loss)
    last["loss"] = loss
    names = []
    names.append(loss)
