# A decorator is called once for each definition.
import torch


class Net(torch.nn.Module):
    @torch.compile()
    def forward(self, x):
        return x.sin()


def main(loader):
    net = Net()
    for x in loader:
        net(x)
