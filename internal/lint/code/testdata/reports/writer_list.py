# after: horovod/horovod#641
import torch
import torch.nn.functional as F

class Metric:
    def __init__(self):
        self.sum = torch.tensor(0.0)
        self.n = 0

    def update(self, val):
        self.sum += val
        self.n += 1

train_loss = Metric()
for data, target in train_loader:
    loss = F.cross_entropy(model(data), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    train_loss.update(loss)  # want: leak/logger-tensors
