import functools

import torch
from torch import Tensor


@functools.lru_cache(maxsize=None)  # want: leak/cached-method
def gram(features: Tensor) -> Tensor:
    b, c, h, w = features.shape
    flat = features.reshape(b, c, h * w)
    return flat @ flat.transpose(1, 2) / (c * h * w)
