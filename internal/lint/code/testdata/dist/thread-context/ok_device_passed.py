# after: pytorch#58626
import os
import threading

import torch
import torch.distributed as dist


def consume(source, out, device):
    for batch in source:
        out.put(batch.to(device, non_blocking=True))
        torch.cuda.synchronize(device)


def main(source, out):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    threading.Thread(target=consume, args=(source, out, f"cuda:{local_rank}")).start()
