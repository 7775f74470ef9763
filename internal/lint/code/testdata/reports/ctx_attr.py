# after: pytorch#25340
import torch

class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.x = x
        ctx.y = y  # want: leak/tensor-on-ctx
        return y

    @staticmethod
    def backward(ctx, g):
        s = torch.sigmoid(ctx.x)
        return g * (ctx.y + s * (1 - ctx.y))
