# after: pytorch#69688
import torch

# most of the device; what is left is for context and libraries
torch.cuda.set_per_process_memory_fraction(0.95, 0)
