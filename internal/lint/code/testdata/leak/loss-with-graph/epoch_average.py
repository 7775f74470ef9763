# after: pytorch#1840
import torch
import torch.nn as nn
import torch.optim as optim
from data import make_loader
from nets import build_net

net = build_net().cuda()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01)
loader = make_loader(batch_size=64)

for epoch in range(90):
    total_loss = 0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(net(images.cuda()), labels.cuda())
        loss.backward()
        optimizer.step()
        total_loss += loss  # want: leak/loss-with-graph
    print(epoch, total_loss / len(loader))
