import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from nets import Detector


def worker(rank, world_size, weights):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    net = Detector()
    net.load_state_dict(torch.load(weights, weights_only=True))  # want: dist/load-on-gpu0
    net.cuda(rank)


if __name__ == "__main__":
    mp.spawn(worker, args=(4, "detector.pt"), nprocs=4)
