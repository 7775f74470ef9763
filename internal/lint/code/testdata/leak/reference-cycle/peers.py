import torch
from torch import nn

model = nn.Linear(64, 64).cuda()  # want: third/context


class Node:
    pass


def step(x):
    a, b = Node(), Node()
    a.peer, b.peer = b, a  # want: leak/reference-cycle
    a.feat = model(x)
    return a.feat.sum()
