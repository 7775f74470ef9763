# after: pytorch#77159
import torch
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, series, width):
        self.series = series
        self.width = width

    def __len__(self):
        return len(self.series) - self.width

    def __getitem__(self, i):
        x = torch.from_numpy(self.series[i : i + self.width]).float()
        return x.cuda()  # want: dist/worker-context


def loader(series):
    return DataLoader(Windows(series, 128), batch_size=64, num_workers=8)
