"""Two models in one process, each with memory of its own: what one asks too much, the other doesn't notice.

usage: python serve.py

Needs a CUDA GPU with 2 GiB free for what it is about. Without one it serves on the CPU, where nothing sets memory apart.
"""
from __future__ import annotations

import contextlib

import torch

import ullage

MIB = 1 << 20
LIMIT, RESERVE, CACHE = 768 * MIB, 512 * MIB, 128 * MIB


class Model(torch.nn.Module):
    """A decoder reduced to what takes memory: weights, and keys and values for each request."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.heads, self.dim = width // 64, 64
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, 3 * width) for _ in range(layers))

    def forward(self, x: torch.Tensor, kv: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
        batch, length, width = x.shape
        for layer, (keys, values) in zip(self.layers, kv):
            q, k, v = layer(x).view(batch, length, 3, self.heads, self.dim).permute(2, 0, 3, 1, 4)
            seen = torch.nn.functional.scaled_dot_product_attention(q, keys.copy_(k), values.copy_(v))
            x = x + seen.transpose(1, 2).reshape(batch, length, width)
        return x


class Service:
    """A model with its pool; answers are copied out of the cache, whose memory the next request gets."""

    def __init__(self, name: str, width: int, layers: int) -> None:
        # The reserve is taken here, so that whoever comes later can't have it. The pool is made before the model and closed after it.
        self.pool = ullage.Pool(limit=LIMIT, reserve=RESERVE, name=name) if torch.cuda.is_available() else None
        with self.pool or contextlib.nullcontext():
            self.model = Model(width, layers).to("cuda" if self.pool else "cpu").eval()
        self.cache = self.pool.cache(CACHE) if self.pool else ullage.Cache(torch.empty(CACHE, dtype=torch.uint8), name)
        self.name, self.width, self.count = name, width, layers

    @torch.inference_mode()
    def answer(self, batch: int, length: int) -> float:
        with self.pool or contextlib.nullcontext(), self.cache.request():
            x = torch.ones(batch, length, self.width, device="cuda" if self.pool else "cpu")
            kv = self.cache.kv(self.count, batch, self.width // 64, length, 64)
            return float(self.model(x, kv).mean())

    def memory(self) -> str:
        if self.pool is None:
            return "no GPU: memory not set apart"
        return f"{self.pool.reserved_bytes // MIB} MiB taken of {LIMIT // MIB}, {self.pool.allocated_bytes // MIB} MiB in tensors"


def main() -> None:
    torch.manual_seed(0)
    chat, search = Service("chat", 1024, 6), Service("search", 512, 4)
    first = search.answer(2, 128)
    print(f"chat:   {chat.answer(4, 128):+.4f}  ({chat.memory()})")
    print(f"search: {first:+.4f}  ({search.memory()})")
    before = search.memory()
    try:
        chat.answer(64, 2048)  # a request for more than the model has memory for
    except torch.cuda.OutOfMemoryError as e:
        print(f"chat:   {type(e).__name__}: {str(e).splitlines()[0]}")
    assert (search.answer(2, 128), search.memory()) == (first, before)
    print(f"search: {first:+.4f}, the same as before  ({search.memory()})")
    print(f"chat:   {chat.answer(4, 128):+.4f}, again  ({chat.memory()})")
    if chat.pool is None:
        print("Without a GPU it is not shown that memory is reserved and limited: only the caches are of a fixed size.")


if __name__ == "__main__":
    main()
