import os
import threading

import torch
import torch.distributed as dist


def write(queue, path):
    while True:
        item = queue.get()
        torch.save(item.cpu(), path)


def main(queue, path):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    threading.Thread(target=write, args=(queue, path)).start()
