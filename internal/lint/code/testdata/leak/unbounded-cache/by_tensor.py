# after: tensordict#454
import torch


class Norms:
    _cache = {}

    def __call__(self, x):
        if id(x) in self._cache:
            return self._cache[id(x)]
        out = x.float().norm(dim=-1)
        self._cache[id(x)] = out  # want: leak/unbounded-cache
        return out
