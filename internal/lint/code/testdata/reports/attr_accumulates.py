# after: pytorch#17568
import torch

class Meter:
    def __init__(self, net):
        self.net = net
        self.epoch_loss = 0.0
        self.opt = torch.optim.SGD(net.parameters(), 1e-2)

    def run(self, data):
        for x, y in data:
            l = torch.nn.functional.mse_loss(self.net(x), y)
            self.opt.zero_grad()
            l.backward()
            self.opt.step()
            self.epoch_loss = self.epoch_loss + l  # want: leak/loss-with-graph
