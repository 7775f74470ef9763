# after: nccl#864
import torch
import torch.distributed as dist


class Module(torch.nn.Module):
    def training_step(self, batch, index):
        loss = self.model(batch)
        pair = torch.distributed.new_group([0, 1])  # want: third/nccl-buffers
        dist.broadcast(loss.detach(), 0, group=pair)
        return loss
