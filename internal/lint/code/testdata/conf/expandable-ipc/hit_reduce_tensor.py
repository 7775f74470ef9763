# after: pytorch#179220
import os

os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")

import torch
from torch.multiprocessing.reductions import reduce_tensor


def handle(model):
    model.cuda()
    return [reduce_tensor(p.detach()) for p in model.parameters()]  # want: conf/expandable-ipc
