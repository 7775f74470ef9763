# after: pytorch#95823
import torch

buffer = torch.empty(4347592704, dtype=torch.float16, pin_memory=True)  # want: host/pinned-rounding
