# after: pytorch-lightning#10717
import torch
from torch.profiler import ProfilerActivity, profile


def main(model, loader, opt, epochs):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, record_shapes=True) as prof:  # want: leak/profiler
        for _ in range(epochs):
            for x, y in loader:
                loss = model(x.cuda(), y.cuda())
                opt.zero_grad()
                loss.backward()
                opt.step()
    print(prof.key_averages().table(sort_by="self_cuda_memory_usage"))
