import torch
from utils import AverageMeter, accuracy


def train(loader, model, criterion, optimizer):
    losses, top1 = AverageMeter(), AverageMeter()
    for images, targets in loader:
        output = model(images.cuda())
        loss = criterion(output, targets.cuda())
        losses.update(loss, images.shape[0])  # want: leak/logger-tensors
        top1.update(accuracy(output, targets)[0], images.shape[0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses.avg


def train_apart(loader, model, criterion, optimizer):
    losses = AverageMeter()
    for images, targets in loader:
        loss = criterion(model(images.cuda()), targets.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss, images.shape[0])  # want: leak/logger-tensors
    return losses.avg
