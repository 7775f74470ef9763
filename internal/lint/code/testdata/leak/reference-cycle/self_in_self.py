# after: pytorch#50185
import torch


class Garbage:
    def __init__(self, obj):
        self.obj = obj
        self.cycle = self  # want: leak/reference-cycle


for i in range(100):
    Garbage(torch.empty(1024 * 100, 1024, device="cuda"))
