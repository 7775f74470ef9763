# after: pytorch#147233
from functools import cached_property, lru_cache

import torch
from torch import nn


class Net(nn.Module):
    @cached_property
    def mask(self):
        return torch.ones(4, 4)

    @staticmethod
    @lru_cache(maxsize=8)
    def table(n):
        return torch.arange(n)

    @classmethod
    @lru_cache(maxsize=8)
    def names(cls):
        return [k for k in vars(cls)]
