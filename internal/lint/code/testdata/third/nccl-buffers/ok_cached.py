# after: Megatron-LM#6897
import torch.distributed as dist
from torch import nn


class Gather(nn.Module):
    group = None

    def forward(self, x):
        if self.group is None:
            self.group = dist.new_group(self.ranks)
        dist.all_reduce(x, group=self.group)
        return x
