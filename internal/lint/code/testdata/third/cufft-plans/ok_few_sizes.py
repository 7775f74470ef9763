# after: pytorch PR#12665
import torch


def multi_resolution(x, y):
    x, y = x.cuda(), y.cuda()
    total = 0.0
    with torch.no_grad():
        for n_fft in [512, 1024, 2048]:
            total += (torch.fft.rfft(x, n=n_fft) - torch.fft.rfft(y, n=n_fft)).abs().mean().item()
    return total
