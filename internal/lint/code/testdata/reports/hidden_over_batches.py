# after: pytorch#2198
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(128, 256, 2)
        self.out = nn.Linear(256, 1000)

    def forward(self, x, hidden):
        y, hidden = self.rnn(x, hidden)
        return self.out(y), hidden

def train(model, loader, opt):
    hidden = None
    for x, t in loader:
        y, hidden = model(x, hidden)  # want: leak/recurrent-state
        loss = nn.functional.cross_entropy(y.flatten(0, 1), t.flatten())
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
