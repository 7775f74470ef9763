# after: pytorch#149354
import functools

import torch


@functools.cache  # want: leak/cached-method
def names_of(model: torch.nn.Module, prefix: str = ""):
    return [prefix + n for n, _ in model.named_parameters()]


def save(model, path):
    torch.save({n: p for n, p in zip(names_of(model), model.parameters())}, path)
