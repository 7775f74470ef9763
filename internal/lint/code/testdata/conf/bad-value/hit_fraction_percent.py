import torch

torch.cuda.set_per_process_memory_fraction(90, device=0)  # want: conf/bad-value
model = torch.nn.Linear(8, 8).cuda()
