# after: fairseq PR#3560
import os
import threading

import torch
import torch.distributed as dist


def consume(source, out, device):
    torch.cuda.set_device(device)
    for batch in source:
        out.put(batch.cuda(non_blocking=True))


def main(source, out):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    threading.Thread(target=consume, args=(source, out, local_rank)).start()
