import torch
import torch.distributed as dist


def restore(model, path, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    if dist.get_rank() != 0:
        return
    model.load_state_dict(torch.load(path))
