import jax
import jax.numpy as jnp
import torch
from brax import envs

env = envs.get_environment("ant")
reset = jax.jit(env.reset)  # want: third/jax-preallocation


def rollout(policy, seed):
    state = reset(jax.random.PRNGKey(seed))
    obs = torch.utils.dlpack.from_dlpack(state.obs).to("cuda")
    with torch.no_grad():
        return policy(obs)
