# after: d2go PR#526
from torch.nn.parallel import DistributedDataParallel


def wrap(model, rank, cfg):
    a = DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    b = DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=cfg.bucket_view)
    return a, b
