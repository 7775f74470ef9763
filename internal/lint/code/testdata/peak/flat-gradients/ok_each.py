# after: waveglow#92
import torch.distributed as dist


def sync(model):
    for param in model.parameters():
        if param.grad is not None:
            dist.all_reduce(param.grad.data)
            param.grad.data /= dist.get_world_size()
