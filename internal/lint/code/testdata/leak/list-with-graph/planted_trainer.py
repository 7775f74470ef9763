import torch
import torch.nn as nn
import torch.nn.functional as F


class Trainer:
    """Keeps every step's loss with its graph."""
    def __init__(self, m): self.m, self.loss_history = m, []
    def train_step(self, x, y):
        loss = F.cross_entropy(self.m(x), y); self.loss_history.append(loss); return loss  # want: leak/list-with-graph


def _small():
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.Flatten(), nn.Linear(64, 10)).cuda()


def leak_loss_history():
    t = Trainer(_small()); o = torch.optim.SGD(t.m.parameters(), 0.1)
    def step(i):
        x = torch.randn(16, 3, 64, 64, device="cuda"); y = torch.randint(0, 10, (16,), device="cuda")
        t.train_step(x, y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


def leak_eval_outputs():
    m = _small(); preds = []
    def step(i):
        x = torch.randn(16, 3, 64, 64, device="cuda"); preds.append(m(x))  # want: leak/list-with-graph
    return step
