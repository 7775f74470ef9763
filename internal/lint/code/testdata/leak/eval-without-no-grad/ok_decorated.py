# after: skorch#218
import torch


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = 0
    for x, y in loader:
        hits += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
    return hits


@torch.inference_mode()
def embed(model, loader):
    model.eval()
    return torch.cat([model(x.cuda()).cpu() for x in loader])
