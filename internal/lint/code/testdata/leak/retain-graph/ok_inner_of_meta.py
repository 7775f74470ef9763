# The outer loss goes back through the same graph.
import torch


def meta_step(model, fast, tasks, opt):
    outer = 0.0
    for x, y in tasks:
        inner = fast(model, x, y)
        inner.backward(retain_graph=True)
        outer = outer + fast(model, x, y) + inner
    outer.backward()
    opt.step()
    opt.zero_grad()
