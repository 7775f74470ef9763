# after: sglang#29755
import torch


class Attention:
    def keys(self, request, states):
        cache = request.cache
        key = states.data_ptr()
        if key not in cache:
            cache[key] = (states, self.proj(states).detach())
        return cache[key][1]
