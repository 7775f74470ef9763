import torch

_DTYPES = {}
_KERNELS = {}


def buffer(name):
    if name not in _KERNELS:
        _KERNELS[name] = torch.zeros(16, device="cuda")
    return _KERNELS[name]


def dtype_of(name):
    _DTYPES[name] = getattr(torch, name)
    return _DTYPES[name]
