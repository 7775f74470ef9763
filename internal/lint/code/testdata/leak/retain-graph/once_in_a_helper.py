# Who calls this, and what follows, is not in this file.
import torch


def apply_loss(loss, params):
    loss.backward(retain_graph=True)  # want (all): leak/retain-graph
    return [p.grad for p in params]
