"""A batch in pieces has the gradients of the whole batch, also where the loss is a mean over tokens and pieces have unlike numbers of them.

usage: gradients.py

It prints how far the gradients are apart, with the right weights and with none. What it shows does not depend on a device.
"""
from __future__ import annotations

from typing import Dict, List

import torch
from torch.nn import functional as F

import ullage

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOKENS, LENGTH, BATCH = 100, 24, 12


def gradients(model: torch.nn.Module) -> List[torch.Tensor]:
    found = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    return found


def distance(these: List[torch.Tensor], those: List[torch.Tensor]) -> float:
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(these, those))


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(TOKENS, 32), torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, TOKENS))
    model = model.double().to(DEVICE)
    labels = torch.randint(TOKENS, (BATCH, LENGTH))
    for row, length in enumerate(torch.randint(1, LENGTH, (BATCH,)).tolist()):
        labels[row, length:] = -100  # padding, which the loss leaves out
    batch = {"tokens": torch.randint(TOKENS, (BATCH, LENGTH)).to(DEVICE), "labels": labels.to(DEVICE)}

    def loss(piece: Dict[str, torch.Tensor]) -> torch.Tensor:
        return F.cross_entropy(model(piece["tokens"]).flatten(0, 1), piece["labels"].flatten())

    loss(batch).backward()
    whole = gradients(model)
    for name, weight in (("weighted by tokens", lambda piece: (piece["labels"] != -100).sum()), ("weighted by samples", None)):
        ullage.microbatch(model, loss, size=4, weight=weight)(batch)
        print(f"pieces of 4, {name}: gradients differ by {distance(gradients(model), whole):.1e}")


if __name__ == "__main__":
    main()
