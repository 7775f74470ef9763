import torch


class Agent:
    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.Adam(net.parameters())

    def _apply(self, loss):
        self.net.zero_grad(set_to_none=True)
        loss.backward()
        self.optim.step()

    def learn(self, batches):
        for b in batches:
            self._apply(self.net.loss(b))


def accumulate(net, optimizer, loader, n):
    for i, b in enumerate(loader):
        (net(b) / n).backward()
        if (i + 1) % n == 0:
            optimizer.step()
            for group in optimizer.param_groups:
                for p in group["params"]:
                    p.grad.zero_()
