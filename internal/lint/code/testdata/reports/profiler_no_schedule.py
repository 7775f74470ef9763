# after: pytorch#116697
import torch
from torch.profiler import profile, ProfilerActivity

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, profile_memory=True, with_stack=True) as prof:  # want: leak/profiler
    for epoch in range(50):
        for x, y in loader:
            loss = criterion(model(x.cuda()), y.cuda())
            opt.zero_grad()
            loss.backward()
            opt.step()
print(prof.key_averages())
