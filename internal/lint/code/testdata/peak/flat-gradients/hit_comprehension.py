# after: rsl_rl PR#228
import torch


class PPO:
    def reduce_parameters(self):
        all_grads = torch.cat([p.grad.view(-1) for p in self.policy.parameters() if p.grad is not None])  # want: peak/flat-gradients
        torch.distributed.all_reduce(all_grads)
        all_grads /= self.world_size
