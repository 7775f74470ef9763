# Four crops, and a layer that joins what came before.
import torch
from torch import nn


class Dense(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)  # want (all): leak/concat-in-loop
        return x


def crops(image):
    out = torch.zeros(0)
    for k in range(4):
        out = torch.cat([out, image[k : k + 1]])
    return out
