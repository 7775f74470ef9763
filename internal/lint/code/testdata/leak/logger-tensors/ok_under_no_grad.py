import torch


class AverageMeter:
    def __init__(self):
        self.sum = 0.0

    def update(self, val):
        self.sum += val


@torch.no_grad()
def validate(model, loader, criterion):
    meter = AverageMeter()
    for x, y in loader:
        loss = criterion(model(x), y)
        meter.update(loss)
    return meter.sum
