# after: dfdx#678
import os

os.environ.pop("PYTORCH_NO_CUDA_MEMORY_CACHING", None)

import torch
