import torch

device = torch.device("cuda")


def train(model, path, batches):
    checkpoint = torch.load(path, map_location=device)
    model.load_state_dict(checkpoint["model"])
    model.to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(checkpoint["optimizer"])
    checkpoint = None  # the memory is needed
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch.to(device))
        loss.backward()
        optimizer.step()
