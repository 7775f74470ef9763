# after: huggingface/transformers#45412
from functools import lru_cache
import torch
from torch import nn

class SinePositionEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    @lru_cache(maxsize=32)  # want: leak/cached-method
    def forward(self, width, height, device, dtype):
        grid = torch.arange(width * height, device=device, dtype=dtype)
        return grid[:, None] * torch.ones(self.dim, device=device)
