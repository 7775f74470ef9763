import torch.nn.functional as F


def train(model, loader, optimizer, criterion, side=512):
    for images, target in loader:
        images = F.interpolate(images.cuda(), size=(side, side))
        optimizer.zero_grad()
        loss = criterion(model(images), target.cuda())
        loss.backward()
        optimizer.step()
