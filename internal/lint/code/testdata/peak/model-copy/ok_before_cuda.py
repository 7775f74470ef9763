# after: DeepSpeed#2056
import copy

import torch

from networks import UNet

net = UNet()
target = copy.deepcopy(net)
net.cuda()
