# after: torchtitan#268
import torch


def compile_blocks(model):
    for name, block in model.layers.named_children():
        block = torch.compile(block, fullgraph=True)
        model.layers.register_module(name, block)
    for i in range(len(model.heads)):
        model.heads[i] = torch.compile(model.heads[i])
    for block in model.blocks:
        block.forward = torch.compile(block.forward)
