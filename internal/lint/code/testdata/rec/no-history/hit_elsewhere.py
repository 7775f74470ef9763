# after: Megatron-Bridge PR#3508
import torch


def dump(path):
    torch.cuda.memory._dump_snapshot(path)  # want (all): rec/no-history
