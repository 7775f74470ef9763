# after: huggingface/accelerate#296
import os

import torch
from accelerate import Accelerator


def resume(save_dir, model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    path = os.path.join(save_dir, "training_state.pt")
    if os.path.exists(path):
        state = torch.load(path)  # want (all): dist/load-on-gpu0
        optimizer.load_state_dict(state["optimizer"])
    return model, optimizer, loader


def on_the_cpu(path, optimizer):
    optimizer.load_state_dict(torch.load(path, map_location="cpu"))
