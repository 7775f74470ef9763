# DeepSpeed's engine clears gradients in its own step.
import deepspeed
import torch


def train(model, loader, args):
    engine, optimizer, _, _ = deepspeed.initialize(args=args, model=model)
    for x, y in loader:
        loss = engine(x, y)
        engine.backward(loss)
        engine.step()
