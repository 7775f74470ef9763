# after: the gradient accumulation that the PyTorch forum recommends
import torch

def train(model, loader, opt, k=8):
    for batch in loader:
        loss = 0
        for micro in batch.chunk(k):
            loss = loss + model(micro).mean() / k
        opt.zero_grad()
        loss.backward()
        opt.step()
