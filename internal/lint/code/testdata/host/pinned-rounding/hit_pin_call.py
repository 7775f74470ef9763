import torch

staging = torch.zeros(1100, 1024, 1024).pin_memory()  # want: host/pinned-rounding
