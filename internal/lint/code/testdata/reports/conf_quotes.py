# after: pytorch#101158
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = '"max_split_size_mb:128"'  # want: conf/bad-value
import torch
