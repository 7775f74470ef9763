# after: pytorch#1478
# The state is cut where each rollout begins.
import torch
from model import ActorCritic

model = ActorCritic().cuda()
opt = torch.optim.Adam(model.parameters())
hx = cx = None
while True:
    if hx is None:
        hx, cx = torch.zeros(1, 256), torch.zeros(1, 256)
    else:
        hx, cx = hx.detach(), cx.detach()
    values = []
    for _ in range(200):
        value, (hx, cx) = model((state, (hx, cx)))
        values.append(value)
    opt.zero_grad()
    torch.cat(values).mean().backward()
    opt.step()
