# after: SkyRL#1405
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"

import torch
from torch.multiprocessing.reductions import reduce_tensor


def handle(x):
    return reduce_tensor(x.cuda())
