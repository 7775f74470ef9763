import torch
import torch.distributed as dist


def restore(model, path, device, **options):
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    model.load_state_dict(torch.load(path, device))
    extra = torch.load(path + ".extra", **options)
    return extra
