# after: pytorch#2759
import random

import torch
import torch.backends.cudnn as cudnn
from torchvision.models import resnet50

cudnn.benchmark = True  # want: peak/cudnn-benchmark
net = resnet50().cuda().eval()

with torch.no_grad():
    for i in range(100):
        h = random.randint(400, 600)
        w = random.randint(400, 600)
        net(torch.randn(1, 3, h, w, device="cuda"))
