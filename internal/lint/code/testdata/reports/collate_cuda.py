# after: pytorch#17359
from collections import defaultdict

import torch
from torch.utils.data import DataLoader

from corpus import Sentences


def collate(items):
    batch = defaultdict(list)
    for key in items[0]:
        batch[key] = torch.tensor([item[key] for item in items]).long()
        batch[key] = batch[key].to(torch.device("cuda"))  # want: dist/worker-context
    return batch


loader = DataLoader(Sentences(), 4, num_workers=2, collate_fn=collate)
for epoch in range(2):
    for batch in loader:
        print(batch["sequence"].shape)
