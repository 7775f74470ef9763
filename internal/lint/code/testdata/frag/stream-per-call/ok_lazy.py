import torch
from torch import nn


class TwoBranches(nn.Module):
    side = None

    def forward(self, x):
        if self.side is None:
            side = torch.cuda.Stream()
            self.side = side
        with torch.cuda.stream(self.side):
            return self.left(x)
