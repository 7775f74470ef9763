# after: flashinfer#3709
import torch

_WEIGHTS = {}


def repacked(w):
    key = w.data_ptr()
    if key not in _WEIGHTS:
        _WEIGHTS[key] = w.t().contiguous()  # want: leak/unbounded-cache
    return _WEIGHTS[key]
