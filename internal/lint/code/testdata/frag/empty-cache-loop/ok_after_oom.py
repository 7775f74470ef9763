# after: pytorch#31252
import torch


def search_batch_size(run, size):
    while size > 1:
        try:
            run(size)
            return size
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()  # want (all): leak/exception-frame
            size //= 2
    return 1
