import torch
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
outputs = torch.empty(0, 10, device="cuda")
for x, y in loader:
    out = net(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    outputs = torch.cat([outputs, out], 0)  # want: leak/concat-in-loop
