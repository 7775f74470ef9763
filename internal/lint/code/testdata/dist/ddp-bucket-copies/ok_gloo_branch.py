from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(module, backend, options):
    if backend == "gloo":
        module = DDP(module, device_ids=None)
    return module
