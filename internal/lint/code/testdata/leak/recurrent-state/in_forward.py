# after: da-rnn#17
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.lstm = nn.LSTM(features, 64, batch_first=True)
        self.state = None

    def forward(self, x):
        out, self.state = self.lstm(x, self.state)  # want: leak/recurrent-state
        return out
