# after: lucidrains/ema-pytorch#35
import copy
import torch

model = build().cuda()
ema = copy.deepcopy(model)  # want (all): peak/model-copy
opt = torch.optim.AdamW(model.parameters())
for x in loader:
    loss = model(x.cuda()).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters()):
            e.lerp_(p, 0.001)
