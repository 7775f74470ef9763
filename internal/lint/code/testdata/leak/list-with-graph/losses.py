# after: tntorch#19
import torch
from torch.optim import Adam


def optimize(tensors, loss_function, max_iter=10_000):
    opt = Adam(tensors)
    losses = []
    for it in range(max_iter):
        opt.zero_grad()
        loss = loss_function(*tensors)
        losses.append(loss)  # want: leak/list-with-graph
        loss.backward()
        opt.step()
        if it > 100 and losses[-1] > losses[-50]:
            break
    return losses
