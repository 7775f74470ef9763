# The tuple goes when backward has used it.
from torch.autograd import Function


class Scatter(Function):
    @staticmethod
    def forward(ctx, src, index, size):
        out = src.new_ones(size).index_reduce(0, index, src, "prod")
        ctx.kept = src, out, index
        return out

    @staticmethod
    def backward(ctx, grad):
        src, out, index = ctx.kept
        ctx.kept = None
        return (grad * out)[index] / src, None, None
