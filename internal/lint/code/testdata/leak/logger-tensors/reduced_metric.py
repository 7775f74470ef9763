# after: horovod#641
import horovod.torch as hvd
import torch
import torch.nn.functional as F


class Metric:
    def __init__(self, name):
        self.name = name
        self.total = torch.tensor(0.0)
        self.n = torch.tensor(0.0)

    def update(self, val):
        self.total += hvd.allreduce(val, name=self.name)
        self.n += 1


def train(model, opt, loader):
    train_loss = Metric("train_loss")
    for data, target in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(data), target)
        train_loss.update(loss)  # want: leak/logger-tensors
        loss.backward()
        opt.step()
