# after: pytorch#18853
import torch

def step(model, batch, opt):
    try:
        loss = model(batch).mean()
        loss.backward()
    except RuntimeError as e:
        if "out of memory" not in str(e):
            raise
        torch.cuda.empty_cache()
        half = batch[: len(batch) // 2]
        loss = model(half).mean()  # want: leak/exception-frame
        loss.backward()
    opt.step()
