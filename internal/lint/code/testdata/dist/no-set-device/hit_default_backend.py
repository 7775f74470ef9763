import os

import torch
import torch.distributed as dist


def setup():
    dist.init_process_group()  # want: dist/no-set-device
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return device


def run(model, loader):
    device = setup()
    model.to(device)
    for x in loader:
        with torch.no_grad():
            model(x.to(device))
