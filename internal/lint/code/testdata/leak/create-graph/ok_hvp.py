# after: pytorch#78622
import torch


def hvp(model, loss, vec):
    grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
    dot = sum((g * v).sum() for g, v in zip(grads, vec))
    return torch.autograd.grad(dot, list(model.parameters()))
