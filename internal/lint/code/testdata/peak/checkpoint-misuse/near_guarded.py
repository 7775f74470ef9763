# after: mmdetection, whose blocks checkpoint only where their input needs gradients
import torch.nn as nn
import torch.utils.checkpoint as cp


class Block(nn.Module):
    def __init__(self, width, with_cp=False):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.with_cp = with_cp

    def forward(self, x):
        def inner(x):
            return x + self.conv(x)

        if self.with_cp and x.requires_grad:
            return cp.checkpoint(inner, x)  # want (all): peak/checkpoint-misuse
        return inner(x)


class Neck(Block):
    def forward(self, x):
        if x.requires_grad and self.with_cp:
            return cp.checkpoint(self.conv, x)  # want (all): peak/checkpoint-misuse
        if not x.requires_grad:
            return self.conv(x)
        else:
            return cp.checkpoint(self.conv, x)  # want: peak/checkpoint-misuse
