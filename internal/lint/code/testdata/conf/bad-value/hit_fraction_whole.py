import torch

SHARE = 1


def limit(device):
    torch.cuda.set_per_process_memory_fraction(SHARE, device)  # want: conf/bad-value
