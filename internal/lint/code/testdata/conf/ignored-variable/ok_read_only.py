import os

import torch

x = torch.zeros(1).cuda()
print(os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""))
