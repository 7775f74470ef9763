# after: facebookresearch/fairseq#2255
import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedCriterion(nn.Module):
    def forward(self, model, sample):
        logits = model(sample["tokens"])
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), sample["target"].view(-1), reduction="sum")
        log = {"loss": loss, "count": sample["target"].numel()}
        return loss, log


def train(model, criterion, optimizer, samples):
    logs = []
    for sample in samples:
        optimizer.zero_grad()
        loss, log = criterion(model, sample)
        loss.backward()
        optimizer.step()
        logs.append(log)  # want: leak/list-with-graph
        if len(logs) % 100 == 0:
            print(float(sum(entry["loss"] for entry in logs[-100:])))
    return logs
