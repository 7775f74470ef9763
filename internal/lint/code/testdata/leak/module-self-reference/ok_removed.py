# The handle is removed: nothing is left in the module.
import torch
from torch import nn


class Probe(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
        self.last = None

    def _keep(self, module, inputs, output):
        self.last = output.detach()

    def forward(self, x):
        handle = self.body.register_forward_hook(self._keep)
        try:
            return self.body(x)
        finally:
            handle.remove()


for width in (8, 16):
    Probe(nn.Linear(width, width)).cuda()(torch.randn(1, width, device="cuda"))
