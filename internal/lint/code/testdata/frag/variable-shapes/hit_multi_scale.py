import random

import torch.nn.functional as F


def train(model, loader, optimizer, criterion):
    for images, target in loader:
        side = random.choice([320, 416, 512, 608])
        images = F.interpolate(images.cuda(), size=(side, side))  # want (all): frag/variable-shapes
        optimizer.zero_grad()
        loss = criterion(model(images), target.cuda())
        loss.backward()
        optimizer.step()
