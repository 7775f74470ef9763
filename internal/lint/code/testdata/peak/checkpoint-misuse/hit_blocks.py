# after: pytorch#78731
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Stack(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(256, 256) for _ in range(n))

    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x)  # want: peak/checkpoint-misuse
        return x
