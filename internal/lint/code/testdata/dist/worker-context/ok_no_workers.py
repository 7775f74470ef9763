# after: pytorch#1494
import torch
from torch.utils.data import DataLoader, Dataset


class Resident(Dataset):
    """The whole set lies on the GPU; nothing is loaded in workers."""

    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i].to("cuda")


loader = DataLoader(Resident(torch.randn(100, 3)), batch_size=10, num_workers=0)
