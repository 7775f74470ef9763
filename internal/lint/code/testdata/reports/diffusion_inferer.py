# after: Project-MONAI/GenerativeModels#243
from typing import Callable, Optional

import torch
import torch.nn as nn
from tqdm import tqdm


class Inferer:
    """Noise to image with a model and a scheduler."""

    def __init__(self, scheduler: nn.Module) -> None:
        self.scheduler = scheduler

    def __call__(self, inputs, diffusion_model: Callable[..., torch.Tensor], noise, timesteps):
        noisy = self.scheduler.add_noise(original_samples=inputs, noise=noise, timesteps=timesteps)
        return diffusion_model(x=noisy, timesteps=timesteps)

    def sample(self, input_noise, diffusion_model: Callable[..., torch.Tensor], verbose: Optional[bool] = True, conditioning=None):
        image = input_noise
        progress_bar = tqdm(self.scheduler.timesteps) if verbose else iter(self.scheduler.timesteps)
        for t in progress_bar:
            model_output = diffusion_model(image, timesteps=torch.Tensor((t,)).to(input_noise.device), context=conditioning)  # want: leak/eval-without-no-grad
            image, _ = self.scheduler.step(model_output, t, image)
        return image
