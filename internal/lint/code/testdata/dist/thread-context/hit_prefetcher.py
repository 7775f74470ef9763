# after: ffcv PR#190
import os
import threading
from queue import Queue

import torch
import torch.distributed as dist


class Prefetcher(threading.Thread):
    def __init__(self, source):
        super().__init__(daemon=True)
        self.source = source
        self.out = Queue(maxsize=2)

    def run(self):
        for batch in self.source:
            self.out.put(batch.cuda(non_blocking=True))  # want: dist/thread-context


def main(source):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    Prefetcher(source).start()
