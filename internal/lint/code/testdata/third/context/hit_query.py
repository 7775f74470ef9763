# after: DeepSpeed PR#8078
import torch

CAPABILITY = torch.cuda.get_device_capability()  # want (all): third/context


def fast_path():
    return CAPABILITY >= (8, 0)
