import torch


def train(model, opt, loader, accumulate):
    for i, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward(retain_graph=i % accumulate != 0)
        opt.step()
        opt.zero_grad()


def passthrough(loss, **kwargs):
    loss.backward(retain_graph=kwargs.pop("retain_graph", False))
