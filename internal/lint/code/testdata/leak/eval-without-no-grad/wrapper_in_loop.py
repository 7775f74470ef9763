# the model is switched, what wraps it runs, and the loop is in the caller
import torch
from torch import nn


class Scorer:
    def __init__(self, network):
        self.network = network
        self.parallel = nn.DataParallel(self.network)  # want: dist/data-parallel

    def score(self, batch):
        self.network.eval()
        return self.parallel(batch).argmax(dim=1).tolist()  # want: leak/eval-without-no-grad


def score_all(scorer, loader):
    return [scorer.score(batch) for batch in loader]
