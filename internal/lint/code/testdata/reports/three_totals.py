# after: samuelyu2002/ImVisible#2
import torch
import torch.nn as nn

mse_loss, ce_loss = nn.MSELoss(), nn.CrossEntropyLoss()
for epoch in range(300):
    running_loss = running_mse = 0.0
    for image, direction, mode in train_loader:
        pred_mode, pred_dir = net(image.cuda())
        mse = mse_loss(pred_dir, direction.cuda())
        loss = ce_loss(pred_mode, mode.cuda()) + mse
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_loss += loss  # want: leak/loss-with-graph
        running_mse += mse  # want: leak/loss-with-graph
