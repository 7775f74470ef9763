# after: pytorch PR#178670
import torch


def start():
    torch.cuda.memory._record_memory_history(max_entries=100_000)


def dump(path):
    torch.cuda.memory._dump_snapshot(path)


def stop():
    torch.cuda.memory._record_memory_history(enabled=None)
