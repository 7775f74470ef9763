# The name is given the number before the meter gets it.
import torch
from utils import AverageMeter


def train(loader, model, criterion, optimizer):
    losses = AverageMeter()
    for images, targets in loader:
        loss = criterion(model(images), targets).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss = loss.item()
        losses.update(loss, images.shape[0])
    return losses.avg
