# after: pytorch#150517
import torch

weight = torch.randn(18944, 3584, dtype=torch.float16).pin_memory()
