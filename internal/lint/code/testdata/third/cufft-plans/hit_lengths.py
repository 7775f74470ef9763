# after: pytorch#94893
import torch


def spectra(signal):
    signal = signal.cuda()
    out = []
    with torch.no_grad():
        for n in range(16, signal.numel()):
            out.append(torch.fft.rfft(signal[:n]).abs().max().item())  # want: third/cufft-plans
    return out
