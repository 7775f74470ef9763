# after: pytorch#25340
import torch


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y  # want: leak/tensor-on-ctx
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y
