# after: nemos#208
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp
import torch

y = jnp.zeros(3)
x = torch.zeros(3, device="cuda")
