# after: pytorch#46386
import torch.nn as nn
import torchvision

class LeakyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.resnet = torchvision.models.resnet152()

        def fw_hook(module, inputs, output):
            return self.scale(output)

        self.resnet.register_forward_hook(fw_hook)  # want: leak/module-self-reference

    def scale(self, x):
        return 2 * x
