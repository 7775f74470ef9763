# after: sru#171
import torch
from torch.autograd import Function


class Recurrence(Function):
    @staticmethod
    def forward(ctx, u, x, bias, init):
        size = (x.size(0), x.size(1), u.size(-1))
        c = torch.empty(size, device=u.device)
        h = torch.zeros_like(c)
        kernel(u, x, bias, init, h, c)
        ctx.save_for_backward(u, x, bias, init)
        ctx.intermediate = c  # want (all): leak/tensor-on-ctx
        ctx.size = size
        return h

    @staticmethod
    def backward(ctx, gh):
        u, x, bias, init = ctx.saved_tensors
        return grad_kernel(u, x, bias, init, ctx.intermediate, gh)


def kernel(*args):
    raise NotImplementedError


def grad_kernel(*args):
    raise NotImplementedError
