# after: pytorch#92074
import os

import torch

a = torch.rand((2, 2))
b = a.to("cuda")
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # want: conf/ignored-variable
c = torch.rand((4, 4)).to("cuda")
