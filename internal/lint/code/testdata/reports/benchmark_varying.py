# after: pytorch#49207
import random
import torch
import torch.nn.functional as F

torch.backends.cudnn.benchmark = True  # want: peak/cudnn-benchmark
model = build().cuda()
for x, y in loader:
    size = random.choice(range(320, 640, 32))
    x = F.interpolate(x.cuda(), size=(size, size))
    loss = model(x, y.cuda())
    loss.backward()
    opt.step()
    opt.zero_grad()
