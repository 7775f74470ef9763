# after: ace PR#1395
import torch
from torch.utils.data import DataLoader


def init(worker_id):
    torch.cuda.set_device(worker_id % 2)  # want: dist/worker-context


def loader(dataset):
    return DataLoader(dataset, num_workers=24, worker_init_fn=init)
