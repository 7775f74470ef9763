from torch.nn.parallel import DistributedDataParallel as DDP


def wrap(model, rank, ddp_options):
    # what is in the options is not to be seen here
    return DDP(model, device_ids=[rank], **ddp_options)
