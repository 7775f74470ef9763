# after: TeaPearce/Conditional_Diffusion_MNIST#12
import torch
from torch import nn


class DDPM(nn.Module):
    def __init__(self, nn_model, schedules, n_T, device):
        super().__init__()
        self.nn_model = nn_model.to(device)
        for k, v in schedules.items():
            self.register_buffer(k, v)
        self.n_T = n_T
        self.device = device

    def forward(self, x, c):
        t = torch.randint(1, self.n_T + 1, (x.shape[0],)).to(self.device)
        noise = torch.randn_like(x)
        x_t = self.sqrtab[t, None, None, None] * x + self.sqrtmab[t, None, None, None] * noise
        return nn.functional.mse_loss(noise, self.nn_model(x_t, c, t / self.n_T))

    def sample(self, n_sample, size, c_i, guide_w=0.0):
        x_i = torch.randn(n_sample, *size).to(self.device)
        for i in range(self.n_T, 0, -1):
            t_is = torch.tensor([i / self.n_T]).to(self.device).repeat(n_sample, 1, 1, 1)
            z = torch.randn(n_sample, *size).to(self.device) if i > 1 else 0
            eps = self.nn_model(x_i, c_i, t_is)  # want: leak/eval-without-no-grad
            x_i = self.oneover_sqrta[i] * (x_i - eps * self.mab_over_sqrtmab[i]) + self.sqrt_beta_t[i] * z
        return x_i
