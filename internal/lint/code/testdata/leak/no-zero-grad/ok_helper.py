# after: pytorch#47175
import torch


def clear(params):
    for p in params:
        p.grad = None


def train(model, opt, loader):
    for x, y in loader:
        clear(model.parameters())
        model(x, y).backward()
        opt.step()
