# after: pytorch#18853
import torch


def run(step, batch):
    failed = False
    try:
        step(batch)
    except torch.cuda.OutOfMemoryError:
        failed = True
    if failed:
        torch.cuda.empty_cache()
        for part in batch.chunk(2):
            step(part)
