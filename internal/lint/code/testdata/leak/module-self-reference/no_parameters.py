# There is nothing to keep but the activation itself.
import torch
from torch import nn


class GELU(nn.Module):
    def __init__(self, approximate):
        super().__init__()
        self.act = self.tanh if approximate else nn.functional.gelu  # want (all): leak/module-self-reference

    def tanh(self, x):
        return 0.5 * x * (1 + torch.tanh(0.8 * x))

    def forward(self, x):
        return self.act(x)
