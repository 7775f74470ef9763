# after: pytorch PR#63552
import torch


def train(model, loader, optimizer, criterion):
    with torch.autocast("cuda", dtype=torch.bfloat16):  # want: peak/autocast-cache
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
