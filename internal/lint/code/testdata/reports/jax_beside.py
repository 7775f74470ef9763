# after: the JAX documentation, GPU memory allocation
import jax
import jax.numpy as jnp
import torch

policy = torch.nn.Linear(10, 10).cuda()
env_state = jnp.zeros((4096, 100))  # want (all): third/jax-preallocation
