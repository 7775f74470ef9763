# after: rl_games PR#191
import torch
import torch.distributed as dist


def reduce_gradients(model, world_size):
    grads = []
    for param in model.parameters():
        if param.grad is not None:
            grads.append(param.grad.view(-1))
    flat = torch.cat(grads)  # want: peak/flat-gradients
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    offset = 0
    for param in model.parameters():
        if param.grad is not None:
            n = param.numel()
            param.grad.data.copy_(flat[offset : offset + n].view_as(param.grad.data) / world_size)
            offset += n
