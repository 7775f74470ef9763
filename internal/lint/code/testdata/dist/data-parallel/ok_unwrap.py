# after: BERT-pytorch#10
import torch
import torch.nn as nn


def unwrap(model):
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        return model.module
    return model


def save(model, path):
    torch.save(unwrap(model).state_dict(), path)
