# after: neuromancer#292
import torch


class Tracker(object):
    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)


class Trainer:
    def __init__(self, problem, opt):
        self.problem, self.opt = problem, opt
        self.tracker = Tracker()

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for batch in loader:
                loss = self.problem(batch).mean()
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.tracker.add("loss", loss)  # want: leak/logger-tensors
