# after: mi-prometheus#111
import torch
from collections import defaultdict


class Worker:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.statistics = defaultdict(list)

    def run(self, loader):
        for episode, (x, y) in enumerate(loader):
            logits = self.model(x)
            loss = torch.nn.functional.cross_entropy(logits, y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.statistics["loss"].append(loss)  # want: leak/list-with-graph
            self.statistics["episode"].append(episode)
