# after: pytorch-pfn-extras PR#726
import os
import threading
import time

import torch
import torch.distributed as dist


def watch(log):
    while True:
        free, total = torch.cuda.mem_get_info()  # want: dist/thread-context
        log.write(f"{total - free}\n")
        time.sleep(10)


def main(log):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    threading.Thread(target=watch, args=(log,), daemon=True).start()
