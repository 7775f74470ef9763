# after: composer PR#1941
import copy

import torch

from networks import UNet

net = UNet().cuda()
averaged = copy.deepcopy(net).cpu()
best = {k: v.detach().cpu() for k, v in net.state_dict().items()}
