# after: pytorch#5569
from torch.autograd import Function


class CopyFeatures(Function):
    @staticmethod
    def forward(ctx, features, weight):
        ctx.output_features = features.clone()  # want: leak/tensor-on-ctx
        return ctx.output_features

    @staticmethod
    def backward(ctx, grad):
        return grad, None
