# after: cupy#5134
import random

import torch


def augment(waves):
    for wave in waves:
        size = random.randint(8000, 160000)
        yield torch.fft.irfft(torch.fft.rfft(wave.cuda(), n=size), n=size)  # want: third/cufft-plans
