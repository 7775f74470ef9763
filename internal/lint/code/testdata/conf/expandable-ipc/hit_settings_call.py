import torch
import torch.multiprocessing as mp

torch.cuda.memory._set_allocator_settings("expandable_segments:True")


def feed(q: mp.Queue, batches):
    for batch in batches:
        q.put(batch.cuda())  # want: conf/expandable-ipc
