import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist


def stage(batch):
    return {k: v.to("cuda") for k, v in batch.items()}  # want: dist/thread-context


def main(batches):
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    with ThreadPoolExecutor(max_workers=2) as pool:
        for batch in batches:
            pool.submit(stage, batch)
