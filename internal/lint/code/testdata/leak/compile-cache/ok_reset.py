import torch


def compare(model, x):
    for mode in ("default", "max-autotune"):
        torch._dynamo.reset()
        fast = torch.compile(model, mode=mode)
        print(mode, fast(x).mean().item())
