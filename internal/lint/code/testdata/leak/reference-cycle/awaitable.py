# after: torchrec#1226
import torch


class Awaitable:
    def __init__(self, tensors):
        self.tensors = tensors
        self.callbacks = []
        self.callbacks.append(self.finish)  # want: leak/reference-cycle

    def finish(self, out):
        return torch.cat([*self.tensors, out])


def epoch(batches):
    for batch in batches:
        yield Awaitable([b.cuda() for b in batch])
