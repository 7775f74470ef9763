# after: pytorch PR#41954
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import RobertaForMaskedLM


def build(rank):
    torch.cuda.set_device(rank)
    roberta = RobertaForMaskedLM.from_pretrained("roberta-base").to(rank)
    return DDP(roberta, device_ids=[rank], output_device=rank, find_unused_parameters=True)  # want (all): dist/ddp-bucket-copies
