# after: pytorch#10375
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch
import torch.multiprocessing as mp


def produce(queue):
    x = torch.zeros(1 << 20, device="cuda")
    queue.put(x.cpu())


if __name__ == "__main__":
    queue = mp.Queue()
    mp.Process(target=produce, args=(queue,)).start()
    queue.get()
