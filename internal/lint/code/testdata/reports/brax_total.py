# after: google/brax#152
import torch
from torch import optim

def train(agent, env, steps, device="cuda"):
    opt = optim.Adam(agent.parameters(), lr=3e-4)
    total_loss = 0
    sps = 0
    for i in range(steps):
        td = env.rollout(agent)
        opt.zero_grad()
        loss = agent.loss(td)
        loss.backward()
        opt.step()
        total_loss += loss  # want: leak/loss-with-graph
    return total_loss / steps
