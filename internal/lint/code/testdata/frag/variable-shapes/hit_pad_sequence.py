# after: pytorch#31252
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(items):
    return pad_sequence([torch.as_tensor(x) for x in items], batch_first=True)  # want (all): frag/variable-shapes


def loader(dataset):
    return DataLoader(dataset, batch_size=8, collate_fn=collate)
