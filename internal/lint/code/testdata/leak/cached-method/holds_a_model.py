# after: zeno#525
import functools

import torch


class Predictor:
    def __init__(self, path):
        self.model = torch.load(path, map_location="cuda")

    @functools.cache  # want: leak/cached-method
    def labels(self, split):
        return [self.model(x).argmax().item() for x in split]
