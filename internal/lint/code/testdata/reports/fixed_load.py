# after: lucidrains/imagen-pytorch#132
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def main():
    dist.init_process_group("nccl")
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    model = build().cuda(rank)
    ckpt = torch.load("last.pt", map_location="cpu")
    model.load_state_dict(ckpt["model"])
    model = DDP(model, device_ids=[rank], gradient_as_bucket_view=True)
