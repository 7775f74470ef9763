# What is written into a tensor joins its graph.
import torch
from net import Net


def train(opt, loader):
    net = Net().cuda()
    losses = torch.zeros(len(loader), device="cuda")
    summaries = []
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses[i] = loss  # want: leak/list-with-graph
        summary = {"step": i, "loss": loss}
        summaries.append(summary)  # want: leak/list-with-graph
    print(losses.mean())
