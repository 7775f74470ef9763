# after: examples PR#1142
import os

import torch
from torch.distributed import init_process_group


def ddp_setup():
    init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def main(model):
    ddp_setup()
    model.cuda()
