import torch
from torch.utils.checkpoint import checkpoint


def train(model, loader, optimizer, criterion):
    for x, y in loader:
        optimizer.zero_grad()
        out = checkpoint(model, x, use_reentrant=False)  # want: peak/checkpoint-misuse
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
