# set_to_none=False leaves the tensor with its graph in .grad.
import torch


def train(model, opt, loader, loss_fn):
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward(create_graph=True)  # want: leak/create-graph
        gnorm = sum(p.grad.pow(2).sum() for p in model.parameters())
        gnorm.backward()
        opt.step()
        opt.zero_grad(set_to_none=False)
