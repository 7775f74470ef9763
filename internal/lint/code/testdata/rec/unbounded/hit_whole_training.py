# after: pytorch#129674
import torch

torch.cuda.memory._record_memory_history()  # want: rec/unbounded


def train(model, loader, optimizer):
    for batch in loader:
        optimizer.zero_grad()
        loss = model(batch)
        loss.backward()
        optimizer.step()


def on_oom():
    torch.cuda.memory._dump_snapshot("oom.pickle")
