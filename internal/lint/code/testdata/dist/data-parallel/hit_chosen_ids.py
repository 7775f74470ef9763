# after: pytorch#7138
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(10, 20)
        self.body = nn.DataParallel(nn.Linear(20, 20), device_ids=[3, 2])  # want: dist/data-parallel

    def forward(self, x):
        return self.body(self.stem(x))


net = Net().to("cuda:3")
