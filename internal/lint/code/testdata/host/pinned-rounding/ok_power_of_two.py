# after: pytorch PR#171662
import torch

buffer = torch.empty(1 << 30, dtype=torch.float16, pin_memory=True)
near = torch.empty(1000, 1024, 1024, dtype=torch.uint8, pin_memory=True)
