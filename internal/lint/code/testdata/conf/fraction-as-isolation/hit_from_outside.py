import torch


def serve(share, device):
    torch.cuda.set_per_process_memory_fraction(share, device)  # want (all): conf/fraction-as-isolation
