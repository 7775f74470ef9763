# after: pytorch#119607
import torch
from torch import nn


def measure(widths, x):
    for width in widths:
        model = nn.Sequential(nn.Linear(x.shape[1], width), nn.ReLU(), nn.Linear(width, 1)).to("cuda")
        fast = torch.compile(model)  # want (all): leak/compile-cache
        print(width, torch.cuda.max_memory_allocated(), fast(x).sum().item())
