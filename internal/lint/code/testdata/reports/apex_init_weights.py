# after: NVIDIA/apex#222
import argparse

import torch
import torch.distributed as dist
from apex import amp
from apex.parallel import DistributedDataParallel as DDP

from video import VideoNet, video_loader

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=0, type=int)
parser.add_argument("--init-from", default="pretrained.pth")
args = parser.parse_args()

model = VideoNet()
state = torch.load(args.init_from)["state_dict"]  # want: dist/load-on-gpu0
own = model.state_dict()
own.update({k: v for k, v in state.items() if k in own})
model.load_state_dict(own)

torch.cuda.set_device(args.local_rank)
dist.init_process_group(backend="nccl", init_method="env://")
model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
model = DDP(model)
for clip, label in video_loader(args.local_rank):
    loss = torch.nn.functional.cross_entropy(model(clip.cuda()), label.cuda())
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
