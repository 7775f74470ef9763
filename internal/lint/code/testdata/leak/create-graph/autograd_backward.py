import torch
import torch.autograd as autograd


def newton_step(f, x):
    y = f(x)
    autograd.backward(y, create_graph=True)  # want: leak/create-graph
    g = x.grad
    h = autograd.grad(g.sum(), x)[0]
    return x - g / h
