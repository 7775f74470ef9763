# after: FastWAM PR#20
import torch
from torch.utils.data import DataLoader


def main(model, path, dataset):
    model.cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    ckpt = torch.load(path, map_location="cpu")
    model.load_state_dict(ckpt["model"])
    optimizer.load_state_dict(ckpt["optimizer"])
    for batch in DataLoader(dataset):
        optimizer.zero_grad()
        loss = model(batch.cuda())
        loss.backward()
        optimizer.step()
