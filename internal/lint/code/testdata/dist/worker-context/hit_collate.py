# after: bert4torch#149
import torch
from torch.utils.data import DataLoader

device = "cuda" if torch.cuda.is_available() else "cpu"


def collate(batch):
    tokens = [torch.tensor(t) for t, _ in batch]
    labels = [label for _, label in batch]
    padded = torch.nn.utils.rnn.pad_sequence(tokens, batch_first=True)  # want (all): frag/variable-shapes
    return padded.to(device), torch.tensor(labels, device=device)  # want: dist/worker-context


def loader(dataset):
    return DataLoader(dataset, batch_size=16, collate_fn=collate, num_workers=4)
