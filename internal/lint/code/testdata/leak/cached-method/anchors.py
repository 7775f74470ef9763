# after: transformers#45412
from functools import lru_cache

import torch
from torch import nn


class Embedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    @lru_cache(maxsize=32)  # want: leak/cached-method
    def grid(self, h, w):
        y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        return torch.stack([x, y], -1).float() / self.dim

    def forward(self, x):
        return x + self.grid(x.shape[-2], x.shape[-1]).sum(-1).to(x)
