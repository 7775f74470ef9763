# after: sglang PR#36562
import torch

LAYERS, TOKENS, WIDTH = 61, 200_000, 576


class HostCache:
    def __init__(self):
        self.rows = torch.zeros((LAYERS, TOKENS, WIDTH), dtype=torch.bfloat16, pin_memory=True)  # want: host/pinned-rounding
