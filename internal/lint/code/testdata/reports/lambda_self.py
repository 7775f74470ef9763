# after: pytorch#28647
import torch.nn as nn

class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, 3)
        self.fn = lambda x: self.conv(x).relu()  # want: leak/module-self-reference

    def forward(self, x):
        return self.fn(x)
