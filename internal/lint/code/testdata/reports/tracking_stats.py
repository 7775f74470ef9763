# after: visionml/pytracking#313
import torch

class StatValue:
    def __init__(self):
        self.history = []
        self.sum = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.history.append(val)

class LTRTrainer:
    def __init__(self, actor, optimizer):
        self.actor, self.optimizer = actor, optimizer
        self.stats = StatValue()

    def cycle(self, loader):
        for data in loader:
            loss = self.actor(data).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.stats.update(loss)  # want: leak/logger-tensors
