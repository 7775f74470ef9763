# near miss: what runs is a loss, which has no parameters; what it is given may have a graph or not
import torch
from torch import nn


class Parts:
    def __init__(self, size):
        self.cross_entropy_loss = nn.CrossEntropyLoss()
        self.size = size

    def calculate(self, scores, labels, with_backward=False):
        values = []
        for begin in range(0, len(labels), self.size):
            loss = self.cross_entropy_loss(scores[begin : begin + self.size], labels[begin : begin + self.size])
            if with_backward:
                loss.backward()
            values.append(loss.item())
        return sum(values)

    def whole(self, scores, labels):
        return self.calculate(scores, labels)

    def in_parts(self, scores, labels):
        return self.calculate(scores.detach().requires_grad_(), labels, with_backward=True)
