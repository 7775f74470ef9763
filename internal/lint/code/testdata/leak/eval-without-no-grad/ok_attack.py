# Adversarial examples are made in eval mode, and with gradients: that is their point.
import torch
import torch.nn.functional as F


def attack(model, loader, eps):
    model.eval()
    robust = 0
    for x, y in loader:
        x, y = x.cuda().requires_grad_(True), y.cuda()
        loss = F.cross_entropy(model(x), y)
        (g,) = torch.autograd.grad(loss, x)
        adv = (x + eps * g.sign()).clamp(0, 1)
        with torch.no_grad():
            robust += (model(adv).argmax(1) == y).sum().item()
    return robust
