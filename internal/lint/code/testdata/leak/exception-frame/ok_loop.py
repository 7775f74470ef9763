# after: fairchem#447
import torch


def relax(model, batches, results):
    todo = list(batches)
    while todo:
        batch = todo.pop()
        fits = True
        try:
            results.append(model.relax(batch))
        except torch.cuda.OutOfMemoryError:
            if len(batch) == 1:
                raise
            fits = False
        if not fits:
            torch.cuda.empty_cache()
            todo.extend(batch.split(len(batch) // 2))


def search(function, start=128):
    size = start
    while size:
        try:
            return function(size)
        except RuntimeError as e:
            if "out of memory" not in str(e):
                raise
            size //= 2
    raise RuntimeError("no batch size fits")
