import torch


def mix(batches):
    with torch.no_grad():
        for x in batches:
            yield torch.fft.fft2(x.cuda(), s=(256, 256)).real
