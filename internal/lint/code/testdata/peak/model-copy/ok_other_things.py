import copy

import torch


def configs(base, model):
    model.cuda()
    one = copy.deepcopy(base)
    two = copy.deepcopy(model.config)
    return one, two
