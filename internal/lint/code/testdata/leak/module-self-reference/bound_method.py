# after: pytorch#85462
from torch import nn


class Block(nn.Module):
    def __init__(self, kind, width):
        super().__init__()
        self.lin = nn.Linear(width, width)
        self.fn = self.narrow if kind == "narrow" else self.wide  # want: leak/module-self-reference

    def narrow(self, x):
        return self.lin(x)[:, ::2]

    def wide(self, x):
        return self.lin(x)

    def forward(self, x):
        return self.fn(x)


def search(kinds, x):
    best = None
    while kinds:
        block = Block(kinds.pop(), x.shape[1]).cuda()
        score = block(x).var().item()
        best = max(best or score, score)
    return best
