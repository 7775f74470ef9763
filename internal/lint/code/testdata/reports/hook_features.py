# after: meta-pytorch/opacus#176
import torch
import torchvision

model = torchvision.models.resnet50().cuda()
features = []

def grab(module, inputs, output):
    features.append(output)  # want: leak/hook-cache

model.layer4.register_forward_hook(grab)
for x in loader:
    model(x.cuda()).sum().backward()
