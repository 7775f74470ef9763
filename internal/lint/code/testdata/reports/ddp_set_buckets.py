# after: pytorch#39022
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
model = DistributedDataParallel(build().cuda(local_rank), device_ids=[local_rank])  # want (all): dist/ddp-bucket-copies
