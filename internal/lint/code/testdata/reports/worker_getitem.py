# after: pytorch#24292
import torch
from torch.utils.data import DataLoader, Dataset

class Images(Dataset):
    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        return read(self.paths[i]).cuda()  # want: dist/worker-context

loader = DataLoader(Images(paths), batch_size=32, num_workers=8)
