import torch
from net import Net


def step(net, opt, x, y):
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss


def run(net, opt, data, rounds):
    total = 0.0
    for _ in range(rounds):
        x, y = data.draw()
        total += step(net, opt, x, y)  # want: leak/loss-with-graph
    return total / rounds
