# after: lyq133/LIC-HPCM#4
import torch.nn as nn

class AverageMeter(object):
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0
        self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

def train(loader, model, opt):
    criterion = nn.CrossEntropyLoss()
    losses = AverageMeter()
    for x, y in loader:
        loss = criterion(model(x), y)
        losses.update(loss, x.size(0))  # want: leak/logger-tensors
        opt.zero_grad()
        loss.backward()
        opt.step()
