# after: pytorch-pfn-extras#49
import torch


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n


def train(model, loader, opt, criterion):
    losses, other = AverageMeter(), AverageMeter()
    for x, y in loader:
        loss = criterion(model(x), y)
        losses.update(loss.item(), len(x))
        other.update(loss.detach(), len(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
