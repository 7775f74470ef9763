# after: Symbolic-Music-Genre-Transfer-with-CycleGAN-for-pytorch#4
import torch


def train(net, aux, opt, loader, mse, ce):
    for x, y, z in loader:
        h = net(x)
        opt.zero_grad()
        mse(h, y).backward(retain_graph=True)
        ce(aux(h), z).backward()
        opt.step()


def update(alpha_loss, critic_loss, alpha_opt, critic_opt, batches):
    for b in batches:
        shared = critic_loss(b)
        a = alpha_loss(shared)
        a.backward(retain_graph=True)
        alpha_opt.step()
        critic_opt.minimize(shared, retain_graph=False)
