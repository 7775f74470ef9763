# after: pytorch#47589
import torch

weight = torch.nn.Linear(100, 100).to("cuda")


class Job:
    def __init__(self):
        self.lr = 1.0
        self.opt = torch.optim.Adam(weight.parameters())
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, lr_lambda=lambda s: self.lr)  # want: leak/lr-scheduler

    def run(self):
        loss = weight(torch.randn(32, 100, device="cuda")).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sched.step()


while True:
    Job().run()
