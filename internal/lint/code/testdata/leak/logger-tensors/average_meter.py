import torch


class AverageMeter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / self.count


def train(model, loader, opt, criterion):
    losses = AverageMeter()
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        losses.update(loss, x.size(0))  # want: leak/logger-tensors
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(losses.avg)
