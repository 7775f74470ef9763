# after: choderalab/pinot#23
import copy

import torch


class Train:
    def __init__(self, net, data, optimizer, n_epochs=2000):
        self.net = net.to("cuda")
        self.data = data
        self.optimizer = optimizer
        self.n_epochs = n_epochs
        self.states = {}

    def train_once(self):
        for g, y in self.data:
            self.optimizer.zero_grad()
            loss = self.net.loss(g, y)
            loss.backward()
            self.optimizer.step()

    def train(self):
        for epoch in range(self.n_epochs):
            self.train_once()
            self.states[epoch] = copy.deepcopy(self.net.state_dict())  # want: peak/model-copy
        return self.states
