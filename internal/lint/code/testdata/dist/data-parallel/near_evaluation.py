# after: basicsr, which wraps the network that measures a distance
import torch
import torch.nn as nn


def inception(net, device="cuda"):
    return nn.DataParallel(net).eval().to(device)  # want (all): dist/data-parallel


@torch.no_grad()
def features(net, loader):
    net = nn.DataParallel(net.cuda())  # want (all): dist/data-parallel
    return [net(x.cuda()).cpu() for x in loader]
