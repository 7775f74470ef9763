# after: pytorch#1893
import torch
from torch import nn

model = build_model()
if torch.cuda.device_count() > 1:
    model = nn.DataParallel(model)  # want: dist/data-parallel
model.cuda()
for x, y in loader:
    loss = nn.functional.cross_entropy(model(x.cuda()), y.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
