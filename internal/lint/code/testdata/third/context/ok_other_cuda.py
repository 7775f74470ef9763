# Another class's method of that name brings nothing to a GPU.
import torch

from requirements import Capability

NEEDED = frozenset({Capability.cuda(min_sm=(10, 0), max_sm=(10, 9))})


def fits(device):
    return torch.cuda.get_device_capability(device) >= min(NEEDED)
