import os

import torch

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"  # want: conf/ignored-variable


def main():
    return torch.zeros(1, device="cuda")
