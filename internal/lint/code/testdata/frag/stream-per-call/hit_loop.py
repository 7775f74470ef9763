import torch


def train(model, loader, optimizer):
    for batch in loader:
        copies = torch.cuda.Stream()  # want: frag/stream-per-call
        with torch.cuda.stream(copies):
            batch = batch.cuda(non_blocking=True)
        torch.cuda.current_stream().wait_stream(copies)
        optimizer.zero_grad()
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
