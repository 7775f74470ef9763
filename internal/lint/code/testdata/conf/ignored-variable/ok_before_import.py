# after: torchtune#2830
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch

x = torch.zeros(1, device="cuda")
