# a ring of what was seen keeps the graphs that backward has gone through
import torch


class Ring:
    def __init__(self, size):
        self.size = size
        self.at = 0
        self.rows = [None] * size

    def push(self, *row):
        self.rows[self.at] = row
        self.at = (self.at + 1) % self.size


def play(model, optimizer, env, steps):
    ring = Ring(10_000)
    for _ in range(steps):
        state = env.observe()
        value = model(state)
        loss = (value - env.reward()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ring.push(state, value)  # want: leak/logger-tensors
    return ring
