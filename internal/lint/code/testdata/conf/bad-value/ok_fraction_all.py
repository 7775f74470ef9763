import torch

torch.cuda.set_per_process_memory_fraction(1.0)
torch.cuda.set_per_process_memory_fraction(0.95, device=0)
