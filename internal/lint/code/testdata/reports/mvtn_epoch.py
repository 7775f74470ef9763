# after: ajhamdi/MVTN#2
import torch
import torch.nn as nn

class Engine:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters())

    def train_epoch(self):
        total_loss = 0.0
        n = 0
        for points, label in self.loader:
            points, label = points.cuda(), label.cuda()
            out = self.model(points)
            loss = self.criterion(out, label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total_loss += loss  # want: leak/loss-with-graph
            n += 1
        return total_loss / n
