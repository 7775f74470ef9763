import torch
import torch.distributed as dist


class Runner:
    def __init__(self, model, cuda_device):
        dist.init_process_group(backend="nccl")
        if cuda_device == -1:
            self.device = torch.device("cuda")
        else:
            self.device = torch.device(f"cuda:{cuda_device}")
        model.to(self.device)
