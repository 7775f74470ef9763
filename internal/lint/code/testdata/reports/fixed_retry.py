# after: pytorch#18853
import torch

def step(model, batch, opt):
    failed = False
    try:
        model(batch).mean().backward()
    except torch.cuda.OutOfMemoryError:
        failed = True
    if failed:
        opt.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        for part in batch.chunk(2):
            model(part).mean().backward()
    opt.step()
