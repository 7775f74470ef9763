"""Activation checkpointing: what a block computes is dropped after the forward pass, and computed again in the backward pass."""
from __future__ import annotations

import functools
import math
from collections import Counter
from typing import Any, Iterator

import torch
from torch.nn import Module, ModuleDict, ModuleList, Sequential
from torch.utils.checkpoint import checkpoint

from .remedy import Remedy

_CONTAINERS = (ModuleList, Sequential, ModuleDict)


class Checkpoint(Remedy):
    """By the model's own switch where it has one, as models of transformers have, else block by block, or a long Sequential in parts."""

    def __init__(self) -> None:
        super().__init__("no module has repeated blocks")
        self._seen: set[int] = set()

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Switches it on for a module that is called for training for the first time."""
        if torch.is_grad_enabled() and module.training and id(module) not in self._seen:
            self._seen.add(id(module))
            self._switch_on(module)
        return args, kwargs

    def _switch_on(self, module: Module) -> None:
        inner: Any
        for inner in module.modules():
            if getattr(inner, "supports_gradient_checkpointing", False) and hasattr(inner, "gradient_checkpointing_enable"):
                inner.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
                self.places += 1
                self.did = f"gradient_checkpointing_enable() of {type(inner).__name__}"
                return
        blocks = [b for b in repeated_blocks(module) if id(b) not in self._seen]  # an outer module may be called after an inner one
        for block in blocks:
            self._seen.add(id(block))
            _recompute(block)
        if blocks:
            self.places += len(blocks)
            kinds = Counter(type(b).__name__ for b in blocks)
            self.did = "torch.utils.checkpoint around " + ", ".join(f"{n} {kind}" for kind, n in kinds.items())
            return
        self._in_parts(module)

    def _in_parts(self, module: Module) -> None:
        """As checkpoint_sequential for the longest Sequential of a model without blocks, in about the square root of its length."""
        longest = max((m for m in module.modules() if isinstance(m, Sequential)), key=len, default=None)
        if longest is None or len(longest) < 4:
            return
        length = math.ceil(len(longest) / math.isqrt(len(longest)))
        layers = list(longest)
        parts = [Sequential(*layers[i : i + length]) for i in range(0, len(layers), length)]

        def forward(x: Any) -> Any:
            for part in parts[:-1]:
                x = checkpoint(part, x, use_reentrant=False)
            return parts[-1](x)

        longest.forward = forward  # type: ignore[method-assign]
        self.places += len(parts) - 1
        self.did = f"checkpoint_sequential with {len(parts)} parts of {len(layers)} layers"


def repeated_blocks(module: Module) -> Iterator[Module]:
    """The outermost modules that stand at least twice, by class, in one container, and are made of modules themselves."""
    for child in module.children():
        if not isinstance(child, _CONTAINERS):
            yield from repeated_blocks(child)
            continue
        members = [m for m in child.children() if _is_whole(m)]
        count = Counter(type(m) for m in members)
        blocks = [m for m in members if count[type(m)] > 1 and sum(1 for _ in m.children()) > 1]
        yield from blocks
        inner = Module()
        for i, m in enumerate(c for c in child.children() if c not in blocks):
            inner.add_module(str(i), m)
        yield from repeated_blocks(inner)


def _is_whole(module: Module) -> bool:
    """Whether a module can be a block: not a list, nor a stage made of blocks, but perhaps a Sequential of plain layers."""
    if not isinstance(module, _CONTAINERS):
        return True
    return isinstance(module, Sequential) and not any(next(m.children(), None) for m in module)


def _recompute(block: Module) -> None:
    forward = block.forward

    @functools.wraps(forward)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not (torch.is_grad_enabled() and block.training):
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    block.forward = checkpointed
