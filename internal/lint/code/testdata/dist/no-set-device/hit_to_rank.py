# after: pi-GAN#22
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP

from models import Generator


def train(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)  # want: dist/no-set-device
    generator = Generator().cuda()
    ddp = DDP(generator, device_ids=[rank], gradient_as_bucket_view=True)
    noise = torch.randn(16, 256, device="cuda")
    ddp(noise)


if __name__ == "__main__":
    mp.spawn(train, args=(8,), nprocs=8)
