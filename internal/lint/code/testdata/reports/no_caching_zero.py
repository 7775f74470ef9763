# after: pytorch#145661
import os
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "0"  # want: conf/no-caching
import torch

train(torch.device("cuda"))
