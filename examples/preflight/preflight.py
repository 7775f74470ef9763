"""Before the hours are spent: what a training will take, told from two real steps that are undone.

usage: python preflight.py [BATCH]

Exits with 1 when it won't fit. Without a GPU the step runs once, which shows that it works, and nothing of its memory is told.
"""
from __future__ import annotations

import sys

import torch
from torch.nn import functional as F

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, LAYERS, TOKENS, LENGTH = (1024, 12, 32000, 512) if DEVICE == "cuda" else (64, 2, 100, 16)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(TOKENS, WIDTH)
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=0.0, batch_first=True) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    model = Model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randint(TOKENS, (size, LENGTH + 1), device=DEVICE)

    def step(tokens: torch.Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
        optimizer.step()

    if DEVICE == "cpu":
        step(batch)
        print("The step runs. What it would take of a GPU's memory is not told without one: `ullage fit` estimates that.")
        return
    told = ullage.preflight(model, step, optimizer, batch=batch)
    print(told)
    sys.exit(0 if told.fits else 1)


if __name__ == "__main__":
    main()
