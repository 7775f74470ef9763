# after: alf PR#1532
import torch


def restore(model, optimizer, path, device="cuda"):
    # the dict dies with this frame
    checkpoint = torch.load(path, map_location=device)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["step"]


def train(model, optimizer, path, batches):
    step = restore(model, optimizer, path)
    for batch in batches:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()
    return step
