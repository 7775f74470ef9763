# after: huggingface/accelerate#296
import os

import torch
from accelerate import Accelerator


def resume(args, model, optimizer, scheduler, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    path = os.path.join(args.save_dir, "training_state.pt")
    step = 0
    if os.path.exists(path):
        state = torch.load(path)  # want (all): dist/load-on-gpu0
        step = state["step"]
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
    return model, optimizer, loader, step
