# after: horovod#641
import torch


class Metric:
    def __init__(self):
        self.total, self.n, self.last = 0.0, 0, None

    def update(self, val):
        if isinstance(val, torch.Tensor):
            val = val.detach()
        self.total += val
        self.n += 1


class Display:
    def update(self, val):
        self.text = f"{val:.3f}"


def train(model, loader, opt):
    metric, display = Metric(), Display()
    for x in loader:
        loss = model(x).mean()
        metric.update(loss)
        display.update(loss)
        opt.zero_grad()
        loss.backward()
        opt.step()
