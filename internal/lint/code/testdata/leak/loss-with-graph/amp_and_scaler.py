import torch
from model import Net

net = Net().cuda()
opt = torch.optim.Adam(net.parameters())
scaler = torch.cuda.amp.GradScaler()
running = torch.zeros(1, device="cuda")
for step, (x, y) in enumerate(loader):
    with torch.autocast("cuda"):
        loss = torch.nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    running += loss * x.size(0)  # want: leak/loss-with-graph
