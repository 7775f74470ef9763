# after: pytorch#92074
import os

os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # want: conf/no-caching

import torch

x = torch.zeros(1, device="cuda")
