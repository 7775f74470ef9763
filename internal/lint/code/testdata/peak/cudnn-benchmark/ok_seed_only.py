import random

import numpy as np
import torch


def seed_all(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark = True


def shuffle(names):
    size = random.randint(0, len(names))
    return random.sample(names, size)
