# after: StanfordASL/neural-network-lyapunov PR#140
import torch

from line_search import LineSearchSD


class TrainLyapunov:
    def __init__(self, lyap, relu, max_iterations=1000):
        self.lyap = lyap
        self.relu = relu
        self.max_iterations = max_iterations
        self.learning_rate = 1e-3

    def total_loss(self, states):
        violation = torch.relu(-self.relu(states)).max()
        derivative = self.lyap.derivative(self.relu, states)
        return violation + torch.relu(derivative).mean()

    def train(self, states):
        optimizer = LineSearchSD(self.relu.parameters(), lr=self.learning_rate)
        losses = [None] * self.max_iterations

        for it in range(self.max_iterations):

            def closure():
                optimizer.zero_grad()
                loss = self.total_loss(states)
                loss.backward()
                return loss

            losses[it] = optimizer.step(closure)  # want: leak/list-with-graph
            if it % 100 == 0:
                print(f"Iter {it}, loss {losses[it]}")
        return losses
