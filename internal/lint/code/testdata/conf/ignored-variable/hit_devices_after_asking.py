import os

import torch


def choose(gpus):
    print("CUDA:", torch.cuda.is_available())
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))  # want: conf/ignored-variable
    return torch.nn.Linear(8, 8).cuda()
