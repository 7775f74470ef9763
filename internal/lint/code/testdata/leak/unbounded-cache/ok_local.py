import torch


def run(model, xs):
    seen = {}
    for x in xs:
        seen[id(x)] = model(x).detach()
    return seen


class Sizes:
    def __init__(self):
        self.by_id = {}

    def note(self, x):
        self.by_id[id(x)] = x.numel()
