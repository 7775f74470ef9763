# after: MultimediaTechLab/YOLO#83
from collections import defaultdict
import torch

def train_one_epoch(model, loader, loss_fn, optimizer, device):
    total_loss = defaultdict(lambda: torch.tensor(0.0, device=device))
    for images, targets in loader:
        loss, parts = loss_fn(model(images.to(device)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss["all"] += loss  # want: leak/loss-with-graph
    return total_loss
