# after: pytorch PR#97406
import torch


def profile(step):
    torch.cuda.memory._record_memory_history(max_entries=100_000)
    step()
    torch.cuda.memory._dump_snapshot("step.pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
