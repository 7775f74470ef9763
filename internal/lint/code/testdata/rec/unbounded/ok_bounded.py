# after: pytorch PR#155889
import torch

torch.cuda.memory._record_memory_history(max_entries=200_000)


def on_oom():
    torch.cuda.memory._dump_snapshot("oom.pickle")
