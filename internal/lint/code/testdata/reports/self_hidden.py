# after: Seanny123/da-rnn#17
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(16, 64, batch_first=True)
        self.h = None

    def forward(self, x):
        out, self.h = self.cell(x, self.h)  # want: leak/recurrent-state
        return out
