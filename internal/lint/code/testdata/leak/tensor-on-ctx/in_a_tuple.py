# after: dmlc/dgl#1060
import torch
from torch.autograd import Function


class Scatter(Function):
    @staticmethod
    def forward(ctx, src, index, size):
        out = src.new_ones(size).index_reduce(0, index, src, "prod")
        ctx.kept = src, out, index  # want: leak/tensor-on-ctx
        return out

    @staticmethod
    def backward(ctx, grad):
        src, out, index = ctx.kept
        return (grad * out)[index] / src, None, None


class Named(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.kept = {"result": y}  # want: leak/tensor-on-ctx
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.kept["result"]
