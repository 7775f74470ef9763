# after: vllm PR#52951
import torch
from torch import nn


class TwoBranches(nn.Module):
    def forward(self, x):
        side = torch.cuda.Stream()  # want: frag/stream-per-call
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            a = self.left(x)
        b = self.right(x)
        torch.cuda.current_stream().wait_stream(side)
        return a + b
