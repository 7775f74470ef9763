import torch


class BatchEncoding:
    """A mapping of tensors: no data set."""

    def __init__(self, data):
        self.data = data

    def __getitem__(self, key):
        return self.data[key]

    def to(self, device):
        self.data = {k: v.to(device) for k, v in self.data.items()}
        return self

    def cuda(self):
        return self.to(torch.device("cuda"))
