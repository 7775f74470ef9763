# after: pytorch#39022
from torch.nn.parallel import DistributedDataParallel as DDP


def unwrap(model: DDP):
    return model.module if isinstance(model, DDP) else model
