# after: tangermeme#84
import torch


def keep(module, inputs, outputs):
    module.last_input = inputs[0].clone()  # want (all): leak/hook-cache
    module.last_output = outputs.detach()


def attach(model):
    for module in model.modules():
        module.register_forward_hook(keep)
