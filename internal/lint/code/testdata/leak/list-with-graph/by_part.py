# after: fairseq#2255
# Backward runs on one part of what a function returns; the log has it too.
import torch


def criterion(model, sample):
    loss = torch.nn.functional.cross_entropy(model(sample["x"]), sample["y"])
    return loss, {"loss": loss, "n": len(sample["x"])}


def train(model, opt, samples):
    logs = []
    for sample in samples:
        loss, log = criterion(model, sample)
        opt.zero_grad()
        loss.backward()
        opt.step()
        logs.append(log)  # want: leak/list-with-graph
    return logs
