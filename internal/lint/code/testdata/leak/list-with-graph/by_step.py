import torch
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
history = {}
for step, x in enumerate(loader):
    loss = net(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history[step] = loss  # want: leak/list-with-graph
    history["last"] = step
