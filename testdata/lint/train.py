import torch
from torch import nn


def train(model, loader, optimizer, epochs):
    total = 0
    for epoch in range(epochs):
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
    print(f"mean loss {total / epochs}")


@torch.no_grad()
def evaluate(model, loader):
    right = 0
    for images, labels in loader:
        right += (model(images.cuda()).argmax(1) == labels.cuda()).sum()
    return right.item()
