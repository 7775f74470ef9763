# after: yolov3#174
import random

import torch
import torch.nn.functional as F


def train(model, loader, optimizer, criterion, gs=32, imgsz=640):
    torch.backends.cudnn.benchmark = True  # want: peak/cudnn-benchmark
    for imgs, targets in loader:
        size = random.randrange(imgsz // 2, imgsz + gs) // gs * gs
        imgs = F.interpolate(imgs.cuda(), size=size, mode="bilinear")  # want (all): frag/variable-shapes
        optimizer.zero_grad()
        loss = criterion(model(imgs), targets.cuda())
        loss.backward()
        optimizer.step()
