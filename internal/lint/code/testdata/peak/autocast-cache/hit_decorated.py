import torch


@torch.autocast("cuda", dtype=torch.float16)  # want: peak/autocast-cache
def train_one_epoch(model, loader, optimizer, scaler, criterion):
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
