# after: pytorch#85889
import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from data import loader_for
from net import Recognizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=0)
    args = parser.parse_args()
    dist.init_process_group("nccl")  # want (all): dist/no-set-device
    args.device = torch.device(f"cuda:{args.local_rank}" if torch.cuda.is_available() else "cpu")
    model = Recognizer().to(args.device)
    model = DistributedDataParallel(model, device_ids=[args.local_rank])
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, label in loader_for(args.local_rank):
        x = x.to(args.device, non_blocking=True)
        label = label.to(args.device, non_blocking=True)
        loss = torch.nn.functional.cross_entropy(model(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
