import copy

from torchvision.models import resnet18


def snapshot(model):
    return copy.deepcopy(model.state_dict())  # want (all): peak/model-copy


def main():
    net = resnet18()
    first = snapshot(net)
    net.cuda()
    return first
