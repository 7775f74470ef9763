# One activation a layer, with its graph, until the next forward.
import torch

feats = {}


def save(name):
    def hook(module, inputs, output):
        feats[name] = output  # want (all): leak/hook-cache

    return hook


def attach(model):
    model.layer1.register_forward_hook(save("layer1"))
    model.layer2.register_forward_hook(save("layer2"))
