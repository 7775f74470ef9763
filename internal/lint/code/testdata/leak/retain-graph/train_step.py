# after: PeRCNN#3
import torch


class Solver:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)

    def train_step(self, state, target):
        self.opt.zero_grad()
        pred = self.net(state)
        loss = ((pred - target) ** 2).mean()
        loss.backward(retain_graph=True)  # want: leak/retain-graph
        self.opt.step()
        return loss.item()
