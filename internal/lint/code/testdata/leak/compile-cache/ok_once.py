# after: pytorch#104773
import torch


@torch.compile
def penalty(w):
    return w.pow(2).sum()


def main(model, loader):
    model = torch.compile(model, dynamic=True)
    for x in loader:
        (model(x).mean() + penalty(model.weight)).backward()
