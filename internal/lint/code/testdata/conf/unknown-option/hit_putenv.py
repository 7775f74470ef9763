# after: llm-foundry PR#1075
import os

os.environ.update({"PYTORCH_CUDA_ALLOC_CONF": "expandeable_segments:True"})  # want: conf/unknown-option

import torch
