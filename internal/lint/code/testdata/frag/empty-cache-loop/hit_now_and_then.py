import torch


def training_loop(model, loader, optimizer):
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            torch.cuda.empty_cache()  # want (all): frag/empty-cache-loop
