# after: pytorch/torchtune#904
import functools
from torch import nn

@functools.lru_cache()  # want: leak/cached-method
def get_adapter_params(model: nn.Module):
    params = {}
    for k, v in model.named_modules():
        if hasattr(v, "adapter_params"):
            params.update(v.named_parameters())
    return params
