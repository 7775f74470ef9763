# Without gradients only the sizes do harm.
import torch
from net import Net

net = Net().cuda()
scores = torch.zeros(0).cuda()
with torch.no_grad():
    for x in loader:
        scores = torch.cat([scores, net(x)])  # want (all): leak/concat-in-loop
