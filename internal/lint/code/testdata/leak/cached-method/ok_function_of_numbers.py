# after: botorch#1650
from functools import lru_cache

import torch


@lru_cache(maxsize=16)
def causal_mask(n, device):
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


@lru_cache
def dtype_of(name: str) -> torch.dtype:
    return getattr(torch, name)
