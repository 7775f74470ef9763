# after: pytorch#2198
import torch
import torch.nn as nn

def train(rnn, head, loader, opt):
    hidden = None
    for x, t in loader:
        y, hidden = rnn(x, hidden)
        hidden = tuple(h.detach() for h in hidden)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), t.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
