# near misses: the graph is cut in each step, or autograd is off
import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, model, steps):
        super().__init__()
        self.model = model
        self.steps = steps

    def p_sample_loop(self, shape):
        x = torch.randn(shape)
        for t in range(self.steps, 0, -1):
            eps = self.model(x, t)
            x = (x - eps / self.steps).detach()
        return x

    @torch.no_grad()
    def sample(self, shape):
        x = torch.randn(shape)
        for t in range(self.steps, 0, -1):
            eps = self.model(x, t)
            x = x - eps / self.steps
        return x
