# after: pytorch#107667
import torch


def limit(gpu, megabytes):
    total = torch.cuda.get_device_properties(gpu).total_memory
    fraction = min(1.0, megabytes * 1024 * 1024 / total)
    torch.cuda.set_per_process_memory_fraction(fraction, gpu)  # want: conf/fraction-as-isolation
