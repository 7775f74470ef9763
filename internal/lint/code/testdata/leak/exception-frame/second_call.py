# after: pytorch#27600
import torch


def embed(model, x):
    try:
        return model(x)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        parts = [model(part) for part in x.split(8)]  # want: leak/exception-frame
        return torch.cat(parts)
