# after: PyHessian#25
import torch


def trace(model, loss_fn, loader):
    total = 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        loss.backward(create_graph=True)  # want: leak/create-graph
        params = [p for p in model.parameters() if p.requires_grad]
        v = [torch.randint_like(p, 2) * 2 - 1 for p in params]
        hv = torch.autograd.grad([p.grad for p in params], params, grad_outputs=v)
        total += sum((a * b).sum() for a, b in zip(v, hv)).item()
    return total
