import torch
import torch.distributed as dist


def restore(scheduler, path, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    scheduler.load_state_dict(torch.load(path))  # want (all): dist/load-on-gpu0
