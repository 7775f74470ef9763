# after: dmlc/dgl#1060
import torch
from torch.autograd import Function


class ScatterMul(Function):
    @staticmethod
    def forward(ctx, src, index, size):
        out = src.new_ones(size)
        out = out.index_reduce(0, index, src, "prod")
        ctx.backward_cache = src, out, index  # want: leak/tensor-on-ctx
        return out

    @staticmethod
    def backward(ctx, grad):
        src, out, index = ctx.backward_cache
        return (grad * out)[index] / src, None, None
