# after: pytorch#128211
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("test", torch.as_tensor(1.0))
        self.which_foo = self.foo  # want: leak/module-self-reference

    def forward(self, x):
        return self.which_foo(x)

    def foo(self, x):
        return x
