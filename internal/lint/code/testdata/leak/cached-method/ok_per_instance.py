import functools

import torch
from torch import nn
from methodtools import lru_cache as per_instance


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    @per_instance(maxsize=4)
    def mask(self, n):
        return torch.ones(n, n)

    def forward(self, x):
        return self.lin(x)


def outside(names):
    @functools.lru_cache(maxsize=None)
    def size(name):
        return len(name)

    return [size(n) for n in names]
