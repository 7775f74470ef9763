# after: pytorch#4661
import torch

def train_critic(D, real, opt):
    for batch in real:
        batch.requires_grad_(True)
        score = D(batch).mean()
        score.backward(create_graph=True)  # want: leak/create-graph
        gp = ((batch.grad.norm(2, dim=1) - 1) ** 2).mean()
        gp.backward()
        opt.step()
        opt.zero_grad()
