# a policy that is trained through what it samples needs the graph of all steps
import torch
from torch import nn


class DiffusionPolicy(nn.Module):
    def __init__(self, denoiser, steps):
        super().__init__()
        self.model = denoiser
        self.steps = steps

    def sample(self, state, shape):
        x = torch.randn(shape)
        for t in range(self.steps, 0, -1):
            eps = self.model(x, t, state)
            x = x - eps / self.steps
        return x


def update(policy, critic, optimizer, states):
    actions = policy.sample(states, (len(states), 6))
    loss = -critic(states, actions).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
