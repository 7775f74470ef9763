# after: torchtitan PR#3628
import torch


def stop():
    torch.cuda.memory._record_memory_history(enabled=None)
