# The cycle is cut at the end of each step: it costs room, but does not grow.
import torch


def train(model, opt, loader, loss_fn):
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward(create_graph=True)  # want (all): leak/create-graph
        opt.step()
