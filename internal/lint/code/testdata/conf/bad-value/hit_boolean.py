import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:true"  # want: conf/bad-value

import torch
