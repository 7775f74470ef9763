import torch


def to_flax(state_dict):
    import jax.numpy as jnp

    return {k: jnp.asarray(v.cpu().numpy()) for k, v in state_dict.items()}


model = torch.nn.Linear(4, 4).cuda()
