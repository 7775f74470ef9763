# after: jax2torch#2
import jax
import jax.numpy as jnp
import torch

flow = jax.jit(lambda x: jnp.square(x))  # want: third/jax-preallocation
model = torch.nn.Linear(4, 4).cuda()  # want: third/context


def run(x):
    warped = flow(jnp.asarray(x))
    with torch.no_grad():
        return model(torch.as_tensor(warped.tolist()).cuda())
