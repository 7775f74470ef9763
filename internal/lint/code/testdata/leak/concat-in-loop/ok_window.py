# A window of the last thousand.
import torch
from net import Encoder

encoder = Encoder().cuda()
queue = torch.zeros(1000, 128).cuda()
for x in loader:
    with torch.no_grad():
        keys = encoder(x)
    queue = torch.cat([queue, keys])[-1000:]
    queue = torch.cat([keys, queue])
    queue = queue[:1000]
