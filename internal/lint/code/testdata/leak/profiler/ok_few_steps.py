# after: metaseq#218
import torch
from torch.profiler import profile, record_function


def bench(model, x, loader):
    with profile(profile_memory=True) as prof:
        for _ in range(10):
            model(x)
    with profile(record_shapes=True):
        with record_function("forward"):
            model(x)
    with torch.profiler.profile() as other:
        for i, batch in enumerate(loader):
            model(batch)
            if i == 5:
                break
    print(prof.key_averages(), other)
