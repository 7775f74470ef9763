import torch.nn as nn


def wrap(model):
    # the checkpoint's names begin with "module."
    return nn.DataParallel(model, device_ids=[0])
