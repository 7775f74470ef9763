import torch.distributed as dist
from torch import nn


class Gather(nn.Module):
    def forward(self, x):
        group = dist.new_group(self.ranks)  # want: third/nccl-buffers
        dist.all_reduce(x, group=group)
        return x
