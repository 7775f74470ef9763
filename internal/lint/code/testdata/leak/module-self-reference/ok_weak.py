# after: pytorch#46386
import weakref

import torch
from torch import nn


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.shapes = []
        me = weakref.ref(self)

        def note(module, inputs, output):
            me().shapes.append(tuple(output.shape))

        self.body.register_forward_hook(note)
        self.method = weakref.WeakMethod(self.log)

    def log(self):
        print(self.shapes)

    def forward(self, x):
        return self.body(x)


for _ in range(10):
    Probe().cuda()(torch.randn(1, 8, device="cuda"))
