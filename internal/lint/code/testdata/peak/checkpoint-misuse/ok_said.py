# after: pytorch#77284
import torch.nn as nn
from torch.utils.checkpoint import checkpoint


class Stack(nn.Module):
    def forward(self, x):
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False)
        return x
