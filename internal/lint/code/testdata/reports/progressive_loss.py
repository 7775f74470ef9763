# after: akanimax/pro_gan_pytorch#12
import torch


class WGAN_GP:
    def __init__(self, dis, drift=0.001, use_gp=True):
        self.dis = dis
        self.drift = drift
        self.use_gp = use_gp

    def _gradient_penalty(self, real, fake, height, alpha, reg_lambda=10):
        eps = torch.rand(real.shape[0], 1, 1, 1, device=real.device)
        merged = eps * real.detach() + (1 - eps) * fake.detach()
        merged.requires_grad_(True)
        op = self.dis(merged, height, alpha)
        op.backward(torch.ones_like(op), create_graph=True)  # want: leak/create-graph
        gradient = merged.grad.view(merged.shape[0], -1)
        return reg_lambda * ((gradient.norm(p=2, dim=1) - 1) ** 2).mean()

    def dis_loss(self, real, fake, height, alpha):
        loss = self.dis(fake, height, alpha).mean() - self.dis(real, height, alpha).mean()
        if self.use_gp:
            loss = loss + self._gradient_penalty(real, fake, height, alpha)
        return loss


def train(gan, gen, optim, loader, depth, alpha):
    for images in loader:
        optim.zero_grad()
        loss = gan.dis_loss(images, gen(torch.randn(len(images), 512)), depth, alpha)
        loss.backward()
        optim.step()
