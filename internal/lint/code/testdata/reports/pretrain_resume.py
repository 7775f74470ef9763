# after: prajdabre/yanmtt#39
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def run(gpu, args):
    rank = args.nr * args.gpus + gpu
    dist.init_process_group(backend="nccl", init_method="env://", world_size=args.world_size, rank=rank)
    torch.cuda.set_device(gpu)
    model = build(args)
    model.cuda(gpu)
    model = DistributedDataParallel(model, device_ids=[gpu])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    if os.path.exists(args.model_path):
        place = {"cuda:0": "cuda:%d" % gpu}
        checkpoint_dict = torch.load(args.model_path, map_location=place)  # want: peak/checkpoint-load
        model.module.load_state_dict(checkpoint_dict["model"])
        optimizer.load_state_dict(checkpoint_dict["optimizer"])
        ctr = checkpoint_dict["ctr"]
    else:
        ctr = 0
    for ids, mask, labels in batches(args, rank):
        optimizer.zero_grad()
        loss = model(ids.to(gpu), mask.to(gpu), labels=labels.to(gpu)).loss
        loss.backward()
        optimizer.step()
        ctr += 1


if __name__ == "__main__":
    args = parse()
    mp.spawn(run, nprocs=args.gpus, args=(args,))
