# A fresh entry for each mode, and the old ones stay.
import torch


def compare(model, x):
    for mode in ("default", "reduce-overhead", "max-autotune"):
        fast = torch.compile(model, mode=mode)  # want (all): leak/compile-cache
        print(mode, fast(x).mean().item())
