# after: TensorRT-LLM#17332
# As many entries as there are shapes: few, or one for each length of a text.
import torch

_MASKS = {}


def mask(x):
    n = x.shape[1]
    if n not in _MASKS:
        _MASKS[n] = torch.ones(n, n, dtype=torch.bool, device="cuda").tril()  # want (all): leak/unbounded-cache
    return _MASKS[n]
