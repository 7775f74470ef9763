"""A training loop that lives through batches that are too large: split where memory runs short, with the gradients of the whole.

usage: python train.py

Sequences differ in length, as texts do, so now and then a batch needs far more memory than most. On a GPU the process limits itself
to 10 GiB, so that this happens here as well. Without a GPU the same loop runs, and nothing runs short.
"""
from __future__ import annotations

import contextlib

import torch
from torch.nn import functional as F

import ullage

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
WIDTH, LAYERS, TOKENS, BATCH, LENGTHS = (512, 6, 16000, 32, (64, 512)) if GPU else (32, 2, 100, 8, (8, 32))
STEPS = 30 if GPU else 6


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(TOKENS, WIDTH)
        self.layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True) for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batches() -> "list[torch.Tensor]":
    chance = torch.Generator().manual_seed(0)
    lengths = torch.randint(*LENGTHS, (STEPS,), generator=chance).tolist()
    lengths[STEPS // 2] = 4 * LENGTHS[1]  # the one that is far too long
    return [torch.randint(TOKENS, (BATCH, length + 1), generator=chance) for length in lengths]


def main() -> None:
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def loss(tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens.to(DEVICE)
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    run = ullage.microbatch(model, loss)  # a batch that fits goes through whole

    @ullage.retry_on_oom(size=BATCH)
    @torch.no_grad()
    def evaluate(tokens: torch.Tensor, *, size: int) -> float:
        model.eval()
        values = [loss(part) * len(part) for part in tokens.split(size)]
        model.train()
        return float(sum(values) / len(tokens))

    with ullage.limit(10 << 30) if GPU else contextlib.nullcontext():
        for number, tokens in enumerate(batches()):
            optimizer.zero_grad(set_to_none=True)
            value = run(tokens)
            optimizer.step()
            if run.report is not None and run.report.failures:
                print(f"step {number}, {tokens.shape[1] - 1} tokens: {run.report.text()}")
        print(f"loss {float(value):.3f} after {STEPS} steps; evaluated: {evaluate(tokens):.3f}")
    if not GPU:
        print("Without a GPU nothing ran short of memory, so nothing had to be repeated.")


if __name__ == "__main__":
    main()
