# A few steps, written out; a text that grows; a sum of lengths.
import torch

model = torch.nn.Linear(4, 4).cuda()
total, text, n = 0, "", 0
for _ in range(3):
    total += model(torch.ones(4, device="cuda")).sum()
for x in loader:
    out = model(x)
    out.mean().backward()
    text += f"{out.mean():.3f} "
    n += len(out)
    n += out.shape[0]
