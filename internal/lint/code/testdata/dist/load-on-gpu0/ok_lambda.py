# after: apex#756
import torch
import torch.distributed as dist


def restore(model, args):
    torch.cuda.set_device(args.gpu)
    dist.init_process_group("nccl")
    checkpoint = torch.load(args.resume, map_location=lambda storage, loc: storage.cuda(args.gpu))
    model.load_state_dict(checkpoint["model"])
