# after: FFB6D#35
import argparse
import os

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
os.environ["CUDA_VISIBLE_DEVICES"] = str(args.local_rank)

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
device = torch.device("cuda")
x = torch.zeros(1, device=device)
