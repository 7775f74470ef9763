# after: pytorch#1478
import torch
from torch import nn


def train(loader, epochs):
    lstm = nn.LSTM(8, 16).cuda()
    head = nn.Linear(16, 1).cuda()
    opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
    h = torch.zeros(1, 1, 16).cuda()
    c = torch.zeros(1, 1, 16).cuda()
    for epoch in range(epochs):
        for x, y in loader:
            out, (h, c) = lstm(x, (h, c))  # want: leak/recurrent-state
            loss = (head(out) - y).square().mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)  # want: leak/retain-graph
            opt.step()
