# The sum starts anew every hundred steps: a hundred small graphs at most.
import torch
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
running_loss = 0.0
for i, (x, y) in enumerate(trainloader):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x.cuda()), y.cuda())
    loss.backward()
    opt.step()
    running_loss += loss  # want (all): leak/loss-with-graph
    if i % 100 == 99:
        print(running_loss / 100)
        running_loss = 0.0
