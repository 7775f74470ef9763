# after: torchtune PR#2881
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"

import torch
