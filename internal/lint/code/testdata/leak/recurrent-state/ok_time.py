# Backpropagation through time: the state begins anew with each batch.
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(8, 16)
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(40))

    def forward(self, xs, h, c):
        for x in xs:
            h, c = self.cell(x, (h, c))
        for layer in self.layers:
            h = layer(h)
        return h


decoder = Decoder().cuda()
rnn = nn.GRU(8, 16).cuda()
opt = torch.optim.Adam(decoder.parameters())
for xs, y in loader:
    h, c = torch.zeros(2, 16), torch.zeros(2, 16)
    out = decoder(xs, h, c)
    hidden = None
    for t in range(len(xs)):
        _, hidden = rnn(xs[t], hidden)
    loss = (out - y).square().mean() + hidden.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
