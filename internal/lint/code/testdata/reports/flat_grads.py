# after: leggedrobotics/rsl_rl#228
import torch
import torch.distributed as dist

class PPO:
    def reduce_parameters(self):
        grads = [p.grad.view(-1) for p in self.policy.parameters() if p.grad is not None]
        all_grads = torch.cat(grads)  # want: peak/flat-gradients
        dist.all_reduce(all_grads, op=dist.ReduceOp.SUM)
        offset = 0
        for p in self.policy.parameters():
            if p.grad is not None:
                n = p.numel()
                p.grad.data.copy_(all_grads[offset:offset + n].view_as(p.grad))
                offset += n
