# A test's hooks note which blocks ran: what they append comes from where the hook was made.
import torch


def ran(model, batch):
    called = []
    for name, block in model.named_children():
        block.register_forward_pre_hook(lambda module, inputs, value=name: called.append(value))
    with torch.inference_mode():
        model(batch)
    return called
