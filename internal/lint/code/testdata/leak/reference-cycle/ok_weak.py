# after: torchrec#1226
import weakref

import torch


class Awaitable:
    def __init__(self, tensors):
        self.tensors = tensors
        self.me = weakref.ref(self)
        self.callbacks = [weakref.WeakMethod(self.finish)]

    def finish(self, out):
        return torch.cat([*self.tensors, out])


for i in range(10):
    Awaitable([torch.ones(4, device="cuda")])
