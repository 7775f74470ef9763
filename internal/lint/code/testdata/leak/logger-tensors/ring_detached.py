# near misses: a ring that is given values without a graph, and a slot that is overwritten
import torch


class Ring:
    def __init__(self, size):
        self.size = size
        self.at = 0
        self.rows = [None] * size
        self.last = {}

    def push(self, *row):
        self.rows[self.at] = row
        self.at = (self.at + 1) % self.size

    def note(self, name, value):
        self.last[name] = value


def play(model, optimizer, env, steps):
    ring = Ring(10_000)
    for _ in range(steps):
        state = env.observe()
        value = model(state)
        loss = (value - env.reward()).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ring.push(state, value.detach())
        ring.note("value", value)
    return ring
