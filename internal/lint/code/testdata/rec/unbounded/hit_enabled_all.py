import torch


def start_recording(enabled):
    if enabled:
        torch.cuda.memory._record_memory_history("all", stacks="python")  # want: rec/unbounded
