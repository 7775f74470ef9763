# after: accelerate#1299
import torch
from accelerate import Accelerator

accelerator = Accelerator(gradient_accumulation_steps=4)


def train(model, optimizer, loader):
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = model(x, y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
