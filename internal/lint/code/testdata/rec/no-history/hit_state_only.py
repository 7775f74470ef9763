import torch

torch.cuda.memory._record_memory_history(enabled="state", max_entries=100_000)
x = torch.zeros(100, device="cuda")
torch.cuda.memory._dump_snapshot("state.pickle")  # want: rec/no-history
