import torch


def staging(n, width):
    return torch.empty(n, width, pin_memory=True)


pageable = torch.empty(1100, 1024, 1024)
