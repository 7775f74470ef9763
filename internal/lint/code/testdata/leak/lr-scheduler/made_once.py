# Made once: it lives as long as the run anyway.
import torch


class Trainer:
    def __init__(self, model, warmup):
        self.warmup = warmup
        self.opt = torch.optim.Adam(model.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lambda s: min(1, s / self.warmup))  # want (all): leak/lr-scheduler
