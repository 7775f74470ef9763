# after: pytorch-lightning#21611
import torch


def train(model, loader, optimizer, criterion):
    with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
