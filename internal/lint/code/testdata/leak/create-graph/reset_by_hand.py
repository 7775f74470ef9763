import torch


def with_reset(params, loss):
    loss.backward(create_graph=True)  # want (all): leak/create-graph
    flat = torch.cat([p.grad.flatten() for p in params]).detach()
    for p in params:
        p.grad = None
    return flat
