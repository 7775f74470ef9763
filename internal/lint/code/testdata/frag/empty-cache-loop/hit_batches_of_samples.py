import torch


@torch.no_grad()
def embed(model, samples, batch_size=64):
    rows = []
    for start in range(0, len(samples), batch_size):
        rows.append(model(samples[start : start + batch_size].cuda()).cpu())
        torch.cuda.empty_cache()  # want: frag/empty-cache-loop
    return torch.cat(rows)
