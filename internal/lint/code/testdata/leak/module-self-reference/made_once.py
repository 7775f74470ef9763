# Made once here; whoever makes another of it finds the first still there.
from torch import nn


class Model(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lin = nn.Linear(cfg.d, cfg.d)
        self.norms = {"pre": self._pre, "post": self._post}  # want: leak/module-self-reference
        self.mix = lambda x: x + self.lin(x)  # want: leak/module-self-reference

    def _pre(self, x):
        return x

    def _post(self, x):
        return -x

    def forward(self, x):
        return self.mix(self.norms["pre"](x))
