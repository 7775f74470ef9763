# after: cupy#3588
import torch

torch.backends.cuda.cufft_plan_cache.max_size = 16


def spectra(signal):
    signal = signal.cuda()
    for n in range(16, signal.numel()):
        yield torch.fft.rfft(signal[:n]).abs().max().item()
