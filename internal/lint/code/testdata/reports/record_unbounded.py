# after: NVIDIA-NeMo/Megatron-Bridge#3487
import torch

torch.cuda.memory._record_memory_history()  # want (all): rec/unbounded
for step in range(100_000):
    train_step(step)
torch.cuda.memory._dump_snapshot("end.pickle")
