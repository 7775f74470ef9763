import torch


def train(model, loader, opt, scale):
    for step, x in enumerate(loader):
        penalty = torch.compile(lambda w: (w * step * scale).pow(2).sum())  # want (all): leak/compile-cache
        loss = model(x).mean() + penalty(model.weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
