# after: pyro#1049
import torch


class Sample(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loc, scale_tril, shape):
        ctx.white = loc.new_empty(shape).normal_()  # want (all): leak/tensor-on-ctx
        ctx.z = torch.matmul(ctx.white, scale_tril.t())  # want (all): leak/tensor-on-ctx
        ctx.save_for_backward(scale_tril)
        return loc + ctx.z

    @staticmethod
    def backward(ctx, grad):
        (l,) = ctx.saved_tensors
        return grad.sum(0), grad.t() @ ctx.white, None
