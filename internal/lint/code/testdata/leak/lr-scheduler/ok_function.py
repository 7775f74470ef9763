import torch
from torch.optim.lr_scheduler import LambdaLR


def factor(step):
    return 1.0 / (1 + step)


class Job:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=0.1)
        self.sched = LambdaLR(self.opt, factor)
        self.other = LambdaLR(self.opt, lr_lambda=[factor, lambda s: 0.5])


def main(models):
    for m in models:
        Job(m)
