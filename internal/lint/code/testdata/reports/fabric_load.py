# after: Lightning-AI/pytorch-lightning#17737
import argparse

import lightning as L
import torch
from torch import nn


class Speaker(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(80, width), nn.ReLU(), nn.Linear(width, 192))

    def forward(self, x):
        return self.body(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--init", default="network.ckpt")
    parser.add_argument("--devices", type=int, default=4)
    args = parser.parse_args()

    fabric = L.Fabric(accelerator="cuda", devices=args.devices, strategy="ddp")
    fabric.launch()

    network = Speaker()
    pretrained = torch.load(args.init)  # want: dist/load-on-gpu0
    network.load_state_dict(pretrained["network"])
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
    network, optimizer = fabric.setup(network, optimizer)
    for batch in fabric.setup_dataloaders(loader(args)):
        loss = network(batch["x"]).pow(2).mean()
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
