# after: pytorch#114534
import os

caching = "PYTORCH_NO_CUDA_MEMORY_CACHING" not in os.environ
if not caching:
    print("every tensor is a cudaMalloc")
