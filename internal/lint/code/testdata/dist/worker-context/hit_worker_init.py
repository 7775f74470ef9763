import torch
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __init__(self, files):
        self.files = files

    def __iter__(self):
        for name in self.files:
            yield torch.zeros(8, device="cuda")  # want: dist/worker-context


def warm(worker_id):
    torch.zeros(1).cuda()  # want: dist/worker-context


loader = DataLoader(Stream(["a", "b"]), num_workers=2, worker_init_fn=warm)
