# after: pytorch#104801
import torch

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"  # want: conf/ignored-variable

x = torch.randn(1).cuda()
print(x)
