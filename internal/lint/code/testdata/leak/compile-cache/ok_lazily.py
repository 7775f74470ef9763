import re

import torch


class Net:
    def __init__(self, model):
        self.model, self.fast = model, None

    def forward(self, x):
        if self.fast is None:
            self.fast = torch.compile(self.model)
        return self.fast(x)


def patterns(texts):
    return [re.compile(t) for t in texts]
