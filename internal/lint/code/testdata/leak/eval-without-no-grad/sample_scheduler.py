# the steps of a scheduler, with the graph of all of them
import torch


class Sampler:
    def __init__(self, unet, scheduler, device):
        self.unet = unet.to(device)
        self.scheduler = scheduler
        self.device = device

    def sample(self, shape, context):
        x = torch.randn(shape, device=self.device)
        for t in self.scheduler.timesteps:
            noise = self.unet(x, t, context)  # want: leak/eval-without-no-grad
            x = self.scheduler.step(noise, t, x).prev_sample
        return x.clamp(-1, 1)
