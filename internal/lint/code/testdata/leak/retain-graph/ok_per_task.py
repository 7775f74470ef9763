# after: GradNorm#9
import torch


def gradnorm(model, weights, loader, opt, loss_fns):
    for x, targets in loader:
        outs = model(x)
        losses = [w * f(o, t) for w, f, o, t in zip(weights, loss_fns, outs, targets)]
        total = torch.stack(losses).sum()
        opt.zero_grad()
        total.backward(retain_graph=True)
        norms = [torch.autograd.grad(l, model.shared.weight, retain_graph=True)[0].norm() for l in losses]
        report(norms)
        opt.step()


def jacobian_rows(net, x):
    y = net(x)
    rows = []
    for k in range(y.shape[1]):
        x.grad = None
        y[:, k].sum().backward(retain_graph=True)
        rows.append(x.grad.clone())
    return torch.stack(rows, 1)


def report(norms):
    print([n.item() for n in norms])


def jacobian_of_outputs(model, x):
    rows = []
    for output in model(x):
        flat = output.reshape(-1)
        for i in range(flat.shape[0]):
            flat[i].backward(retain_graph=True)
            rows.append(x.grad.clone())
            x.grad.zero_()
        v = output.sum(0)
        for i in range(flat.shape[0]):
            v.backward(one_hot(i), retain_graph=True)
    return torch.stack(rows)


def one_hot(i):
    return torch.eye(10)[i]
