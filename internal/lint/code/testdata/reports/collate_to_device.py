# after: pytorch#98002
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda")

def collate(rows):
    xs, ys = zip(*rows)
    return torch.stack(xs).to(device), torch.tensor(ys).to(device)  # want: dist/worker-context

loader = DataLoader(ds, batch_size=64, num_workers=4, collate_fn=collate)
