import torch

norms = []


def note(module, inputs, output):
    norms.append(output.norm().item())
    norms.append(float(output.mean()))


def attach(model):
    for layer in model.layers:
        layer.register_forward_hook(note)
