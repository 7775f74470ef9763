# Through layers, and for a caller who goes back through time.
import torch
from torch import nn


def run_blocks(blocks: nn.Sequential, x, z):
    for block in blocks:
        x = block(x, z)
    return x


def unroll(xs, h):
    cell = nn.GRUCell(8, 8)
    for x in xs:
        h = cell(x, h)
    return h
