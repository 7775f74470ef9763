import torch.distributed as dist


def log_loop(loader, model):
    for batch in loader:
        group = dist.new_group(backend="gloo")
        dist.barrier(group=group)
        dist.destroy_process_group(group)
