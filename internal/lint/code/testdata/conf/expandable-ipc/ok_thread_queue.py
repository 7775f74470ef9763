import os
import queue

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch

q = queue.Queue()
q.put(torch.zeros(1, device="cuda"))
