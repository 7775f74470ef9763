import torch
import torch.nn as nn


def load(model, path):
    weights = torch.load(path, map_location="cpu")
    if "module." in next(iter(weights)):
        model = nn.DataParallel(model)  # its names begin as those of the file
        model.load_state_dict(weights)
        model = model.module
    return model


def load_unwrapped(model, path):
    weights = torch.load(path, map_location="cpu")
    if isinstance(model, nn.DataParallel):
        model.module.load_state_dict(weights)
        model = nn.DataParallel(model.module)
    return model
