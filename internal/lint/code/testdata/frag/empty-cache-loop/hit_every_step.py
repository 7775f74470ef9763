# after: transformers#31372
import torch


def training_loop(model, loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
