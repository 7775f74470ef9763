# after: returnn#1826
import weakref

import torch


class Extra:
    def __init__(self, tensor):
        self._tensor = weakref.ref(tensor)

    @property
    def tensor(self):
        return self._tensor()


class Wrapped:
    def __init__(self, raw):
        self.raw = raw
        self.extra = Extra(self)


for i in range(1000):
    Wrapped(torch.ones(1024, device="cuda"))
