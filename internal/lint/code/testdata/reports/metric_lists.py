# after: Lightning-AI/torchmetrics#1160
import torch
import torchmetrics

from nets import Enhancer, speech_loaders

train_loader, valid_loader = speech_loaders()
model = Enhancer().cuda()
optimizer = torch.optim.Adam(model.parameters())
criterion = torch.nn.SmoothL1Loss()
mape = torchmetrics.MeanAbsolutePercentageError().cuda()
history = []
for epoch in range(100):
    model.train()
    for spec, lld in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(spec.cuda()), lld.cuda())
        loss.backward()
        optimizer.step()
    model.eval()
    for spec, lld in valid_loader:
        logits = model(spec.cuda())  # want: leak/eval-without-no-grad
        history.append(mape(logits, lld.cuda()))  # want: leak/list-with-graph
