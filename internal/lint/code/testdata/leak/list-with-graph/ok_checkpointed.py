# Chunks of a differentiable function, for those who call it.
import torch
from torch.utils.checkpoint import checkpoint


def experts(x, weights, tile):
    pieces = []
    for start in range(0, x.shape[0], tile):
        y = checkpoint(torch.matmul, x[start : start + tile], weights, use_reentrant=False)
        pieces.append(y * 2)
    return torch.cat(pieces)
