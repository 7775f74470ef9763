import torch

activation = {}


def get_activation(name):
    def hook(module, inputs, output):
        activation[name] = output.detach()

    return hook


def attach(model):
    model.fc1.register_forward_hook(get_activation("fc1"))
    for name, module in model.named_modules():
        module.register_forward_hook(get_activation(name))
