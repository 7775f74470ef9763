"""On which GPU does this model train, and with which batch? Asked on a machine without one.

    python examples/will-it-fit/will_it_fit.py [CARD ...]        cards as `ullage fit --gpu` takes them; l4 and a100-40 by default

Needs torch 2.10 or newer and the program `ullage` on PATH (or ULLAGE_BINARY). Exits with 1 if it fits on none of the cards.
"""
import sys

import torch
import ullage
from torch import nn

WIDTH, HEADS, LAYERS, TOKENS, VOCABULARY = 1024, 16, 24, 512, 32000


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, tokens, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    """A language model of 370 million parameters."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids):
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def step(model, optimizer, ids):
    """What the training loop does with a batch."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    loss.backward()
    optimizer.step()


def main(cards):
    with torch.device("meta"):  # nothing of the model is needed but its shape
        model = Model()
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.zeros(32, TOKENS, dtype=torch.long)
    found = False
    for card in cards:
        result = ullage.fit(model, step, optimizer, ids, gpu=card)
        if result.fits_safely:
            found = True
        else:  # each remedy is traced, which takes some seconds
            remedies = ["autocast", "checkpoint", "adam8bit", "autocast+checkpoint"]
            result = ullage.fit(model, step, optimizer, ids, gpu=card, remedies=remedies)
        print(result)
    return 0 if found else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or ["l4", "a100-40"]))
    except ullage.FitError as e:
        sys.exit(f"no prediction: {e}")
