# after: da-rnn#17
import torch
from torch import nn


class Learner:
    def __init__(self):
        self.cell = nn.GRUCell(8, 16).cuda()
        self.opt = torch.optim.Adam(self.cell.parameters())
        self.state = torch.zeros(1, 16).cuda()

    def train_step(self, x, y):
        self.state = self.cell(x, self.state)  # want: leak/recurrent-state
        loss = (self.state.mean() - y).square()
        self.opt.zero_grad()
        loss.backward(retain_graph=True)  # want: leak/retain-graph
        self.opt.step()
