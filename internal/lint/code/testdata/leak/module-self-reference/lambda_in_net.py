# after: pytorch#28647
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.body = nn.Linear(10000, 256)
        self.scale = scale
        self.act = lambda x: torch.tanh(self.scale * x)  # want: leak/module-self-reference

    def forward(self, x):
        return self.act(self.body(x))


for scale in (0.1, 1.0, 10.0):
    net = Net(scale).cuda()
    print(net(torch.randn(4, 10000, device="cuda")).mean().item())
    del net
