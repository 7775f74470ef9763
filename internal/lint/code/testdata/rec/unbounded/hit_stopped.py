# after: torchtitan PR#3628
import torch


def profile(step):
    torch.cuda.memory._record_memory_history(stacks="all")  # want (all): rec/unbounded
    step()
    torch.cuda.memory._dump_snapshot("step.pickle")
    torch.cuda.memory._record_memory_history(enabled=None)
