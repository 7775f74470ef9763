# A tree that is built once.
import torch


class Config:
    def __init__(self, values):
        self.values = values
        self.root = self  # want (all): leak/reference-cycle
        self.dtype = torch.float32
