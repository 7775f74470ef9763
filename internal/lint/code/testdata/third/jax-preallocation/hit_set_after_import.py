# after: CrossQ#7
import os

import jax
import jax.numpy as jnp
import torch

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

device = torch.device("cuda")


def main(x):
    y = jnp.sin(x)  # want (all): third/jax-preallocation
    return torch.tensor(float(y.sum())).to(device)
