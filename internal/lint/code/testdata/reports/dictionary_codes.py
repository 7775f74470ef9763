# after: KempnerInstitute/overcomplete#5
from collections import defaultdict

import torch


def train_dictionary(sae, loader, criterion, optimizer, epochs, device="cuda"):
    logs = defaultdict(list)
    sae = sae.to(device)
    for _ in range(epochs):
        for batch in loader:
            x = batch[0].to(device)
            optimizer.zero_grad()
            z_pre, z, x_hat = sae(x)
            loss = criterion(x, x_hat, z_pre, z)
            loss.backward()
            optimizer.step()
            logs["loss"].append(loss.item())
            logs["z"].append(z.detach()[::10])  # want (all): leak/list-with-graph
    return logs
