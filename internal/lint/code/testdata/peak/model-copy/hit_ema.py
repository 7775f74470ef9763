# after: ema-pytorch#35
from copy import deepcopy

import torch

from networks import UNet

net = UNet().cuda()
ema = deepcopy(net)  # want: peak/model-copy
ema.requires_grad_(False)
