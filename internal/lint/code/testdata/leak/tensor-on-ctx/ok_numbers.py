import torch
from torch.autograd import Function


class Scale(Function):
    @staticmethod
    def forward(ctx, x, alpha: float, n: int):
        ctx.alpha = alpha
        ctx.n = n + 1
        ctx.mean = x.mean().item()
        ctx.kind = "scale"
        return x * alpha

    @staticmethod
    def backward(ctx, g):
        return g * ctx.alpha, None, None
