# after: pytorch#17568
import torch
from torch import nn


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.seen = 0
        self.loss_sum = 0.0

    def train_step(self, batch, target):
        prediction = self.model(batch)
        loss = nn.functional.mse_loss(prediction, target)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.seen += len(batch)
        self.loss_sum = self.loss_sum + loss  # want: leak/loss-with-graph

    def fit(self, loader, epochs):
        for _ in range(epochs):
            for batch, target in loader:
                self.train_step(batch, target)
            print(self.loss_sum / self.seen)
