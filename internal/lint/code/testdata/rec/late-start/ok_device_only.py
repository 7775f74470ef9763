import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.cuda.set_device(0)
torch.cuda.memory._record_memory_history(max_entries=100_000)
x = torch.zeros(8, device=device)
torch.cuda.memory._dump_snapshot("x.pickle")
