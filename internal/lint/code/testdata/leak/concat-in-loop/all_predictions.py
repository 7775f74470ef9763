# after: pytorch#13613
import torch
from net import Net

model = Net().cuda()
model.eval()
preds = torch.tensor([]).cuda()
for x, _ in val_loader:
    y = model(x.cuda())  # want: leak/eval-without-no-grad
    preds = torch.cat([preds, y])  # want: leak/concat-in-loop
print(preds.argmax(1))
