# after: pytorch#46386
import torch
import torchvision
from torch import nn


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = torchvision.models.resnet152()
        self.shapes = []

        def note(module, inputs, output):
            self.shapes.append(tuple(output.shape))

        self.resnet.layer4.register_forward_hook(note)  # want: leak/module-self-reference

    def forward(self, x):
        return self.resnet(x)


def sweep(images):
    for _ in range(1000):
        probe = Probe().to("cuda")
        probe(images)
