# after: pytorch#77159
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = "cuda:0"


class ScansDataset(Dataset):
    def __init__(self, paths, transform=None):
        self.paths = paths
        self.transform = transform

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        scan = torch.load(self.paths[index], map_location="cpu")
        if self.transform is not None:
            scan = self.transform(scan)
        sample = {"scan": scan, "index": torch.tensor(index)}
        return {k: v.to(device) for k, v in sample.items()}  # want: dist/worker-context


def main(paths):
    loader = DataLoader(ScansDataset(paths), batch_size=8, num_workers=4)
    model = nn.Conv3d(1, 8, 3).to(device)
    for batch in loader:
        model(batch["scan"])
