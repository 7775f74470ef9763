# after: pytorch PR#48172
import torch


def lift_limit(device):
    torch.cuda.set_per_process_memory_fraction(1.0, device)
