# after: Symbolic-Music-Genre-Transfer-with-CycleGAN-for-pytorch#4
import torch


def train(net, aux, opt, loader, mse, ce):
    for x, y, z in loader:
        h = net(x)
        opt.zero_grad()
        mse(h, y).backward(retain_graph=True)
        ce(aux(h), z).backward()
        opt.step()
