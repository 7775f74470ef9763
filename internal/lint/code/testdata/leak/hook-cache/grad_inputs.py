import torch

grads = []


def keep(module, grad_input, grad_output):
    grads.append(grad_output[0])  # want: leak/hook-cache


def attach(model):
    model.head.register_full_backward_hook(keep)
