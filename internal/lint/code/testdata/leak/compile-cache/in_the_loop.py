# after: pytorch#134642
import torch


def get_loss(model, batch):
    logits = model(batch)[:, :-1].flatten(0, 1)
    return torch.nn.functional.cross_entropy(logits, batch[:, 1:].flatten())


def train(model, optim, vocab, steps):
    step = 0
    while step < steps:
        batch = torch.randint(0, vocab, (8, 2048), device="cuda")
        loss = torch.compile(get_loss)(model, batch)  # want (all): leak/compile-cache
        loss.backward()
        optim.step()
        optim.zero_grad()
        step += 1
