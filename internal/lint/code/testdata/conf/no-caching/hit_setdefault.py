import os

import torch


def debug_memory():
    os.environ.setdefault("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")  # want: conf/no-caching
    return torch.cuda.memory_stats()
