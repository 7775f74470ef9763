# after: pytorch#85462
import torch
from torch.optim.lr_scheduler import LambdaLR


class Warmup(LambdaLR):
    def __init__(self, optimizer, steps):
        self.steps = steps
        super().__init__(optimizer, self.lr_lambda)  # want: leak/lr-scheduler

    def lr_lambda(self, step):
        return min(1.0, step / self.steps)


def sweep(make, rates):
    for lr in rates:
        model = make().cuda()
        opt = torch.optim.Adam(model.parameters(), lr=lr)
        model.fit(opt, Warmup(opt, 100))
