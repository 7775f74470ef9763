import torch
from torch import nn


class Scale(nn.Module):
    unit = torch.ones(1).cuda()  # want: third/context

    def forward(self, x):
        return x * self.unit


__all__ = ["Scale"]
