# after: transformers#1742
from torch import optim
from torch.optim.lr_scheduler import LambdaLR


class Fold:
    def __init__(self, model, warmup):
        self.model = model
        self.warmup = warmup
        self.optimizer = optim.AdamW(model.parameters())
        self.scheduler = LambdaLR(self.optimizer, self.factor)  # want: leak/lr-scheduler

    def factor(self, step):
        return min(1.0, step / self.warmup)


def cross_validate(make, folds):
    for data in folds:
        fold = Fold(make().cuda(), 100)
        fold.model.fit(data, fold.optimizer, fold.scheduler)
