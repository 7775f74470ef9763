# after: pytorch#1346
import torch

net = torch.nn.Linear(10, 10).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(10000):
    loss = net(torch.rand(4, 10).cuda()).sum()
    loss.backward()
    opt.step()  # want: leak/no-zero-grad
