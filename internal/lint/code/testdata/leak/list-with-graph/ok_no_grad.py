import torch
from net import Net

net = Net()


@torch.inference_mode()
def predict(loader):
    return [net(x) for x in loader]


def collect(loader):
    net.eval()
    rows = []
    with torch.no_grad():
        for x in loader:
            rows.append(net(x))
    return torch.cat(rows)


def accelerate(model, accelerator, loader):
    losses = []
    for x in loader:
        with torch.no_grad():
            out = model(**x)
        losses.append(accelerator.gather(out.loss.repeat(8)))
    return torch.cat(losses).mean()
