import torch
from net import Net

net = Net().cuda()
rows = []
with torch.inference_mode():
    for x in loader:
        rows.append(net(x))
scores = torch.cat(rows)
for x in loader:
    x = torch.cat([x, torch.ones_like(x)], 1)
    net(x).mean().backward()
