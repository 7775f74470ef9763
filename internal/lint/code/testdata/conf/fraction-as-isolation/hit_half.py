# after: pytorch#58466
import torch

torch.cuda.set_per_process_memory_fraction(0.5)  # want: conf/fraction-as-isolation
model = torch.nn.Linear(10, 10).cuda()
