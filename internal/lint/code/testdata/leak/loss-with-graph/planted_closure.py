import torch
import torch.nn as nn
import torch.nn.functional as F


def small():
    return nn.Sequential(nn.Conv2d(3, 64, 3), nn.Flatten(), nn.Linear(64, 10)).cuda()


def workload():
    m = small()
    o = torch.optim.SGD(m.parameters(), 0.1)
    acc = {"total_loss": 0.0}

    def step(i):
        x = torch.randn(16, 3, 64, 64, device="cuda")
        y = torch.randint(0, 10, (16,), device="cuda")
        loss = F.cross_entropy(m(x), y)
        acc["total_loss"] = acc["total_loss"] + loss  # want: leak/loss-with-graph
        loss.backward(retain_graph=True)  # want: leak/retain-graph
        o.step()
        o.zero_grad(set_to_none=True)

    return step
