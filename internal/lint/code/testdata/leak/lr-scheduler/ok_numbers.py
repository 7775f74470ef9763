# after: pytorch#47589
import torch


class Job:
    def __init__(self, model, warmup):
        self.opt = torch.optim.Adam(model.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lr_lambda=lambda s: min(1.0, s / warmup))


for warmup in (10, 100):
    Job(torch.nn.Linear(4, 4).cuda(), warmup)
