# after: pytorch#64586
import torch
from net import Net

net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
total, hits, last = 0.0, 0, None
average = 0.0
for x, y in loader:
    out = net(x)
    loss = torch.nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss.item()
    total = total + float(loss)
    total += loss.detach()
    total += loss.data
    total += loss.detach().cpu().numpy().mean()
    average = 0.9 * average + 0.1 * loss.detach()
    hits += (out.argmax(1) == y).sum()
    with torch.no_grad():
        total += loss
