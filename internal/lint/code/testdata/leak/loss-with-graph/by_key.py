import torch
from losses import all_losses


def train(model, opt, loader):
    sums = {"total": 0.0, "seg": 0.0}
    for batch in loader:
        losses = all_losses(model, batch)
        opt.zero_grad()
        losses["total"].backward()
        opt.step()
        for key in sums:
            sums[key] += losses[key]  # want: leak/loss-with-graph
    return sums
