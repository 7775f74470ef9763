# after: transformers#279
import torch
from torch import nn
from torch.utils.data import DataLoader


def finetune(model, dataset, n_gpu):
    if n_gpu > 1:
        model = torch.nn.DataParallel(model)  # want: dist/data-parallel
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    for batch in DataLoader(dataset, batch_size=32):
        optimizer.zero_grad()
        loss = model(**batch).mean()
        loss.backward()
        optimizer.step()
