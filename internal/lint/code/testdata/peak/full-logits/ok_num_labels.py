import torch.nn as nn


class Classifier(nn.Module):
    def forward(self, x, labels):
        logits = self.head(self.body(x)).float()
        return nn.CrossEntropyLoss()(logits.view(-1, self.num_labels), labels.view(-1))
