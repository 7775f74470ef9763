import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segment:True"  # want: conf/unknown-option

import torch
