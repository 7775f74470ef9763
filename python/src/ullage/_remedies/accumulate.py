"""Gradient accumulation: an optimizer steps, and gradients are cleared, once in several batches. The batches are made smaller elsewhere."""
from __future__ import annotations

import types
from typing import Any

from torch.nn import Module
from torch.optim import Optimizer

from .remedy import Remedy


class Accumulate(Remedy):
    """Passes over k-1 of k steps, and over the clearing of gradients between them."""

    def __init__(self, k: int) -> None:
        super().__init__("the program made no optimizer")
        self.k = k
        self._steps: dict[int, int] = {}  # that the program asked for, by optimizer

    def install(self) -> None:
        """Has every optimizer that is made pass by, and the clearing of a module's gradients."""
        patch, zero_module, accumulate = Optimizer._patch_step_function, Module.zero_grad, self

        def _patch_step_function(self: Optimizer) -> None:  # which both __init__ and __setstate__ call
            patch(self)
            accumulate._slow_down(self)

        def zero_grad(self: Module, set_to_none: bool = True) -> None:
            if accumulate._is_between():
                return
            zero_module(self, set_to_none)

        Optimizer._patch_step_function = _patch_step_function  # type: ignore[method-assign]
        Module.zero_grad = zero_grad  # type: ignore[method-assign]

    def _is_between(self) -> bool:
        return any(n % self.k for n in self._steps.values())

    def _slow_down(self, optimizer: Optimizer) -> None:
        step, zero_grad = optimizer.step, optimizer.zero_grad
        self.places += 1
        self.did = f"a step in {self.k} batches"

        def seldom(old: Optimizer, *args: Any, **kwargs: Any) -> Any:
            n = self._steps[id(old)] = self._steps.get(id(old), 0) + 1
            if n % self.k == 0:
                return step(*args, **kwargs)
            return None

        def kept(old: Optimizer, *args: Any, **kwargs: Any) -> None:
            if self._steps.get(id(old), 0) % self.k == 0:
                zero_grad(*args, **kwargs)

        optimizer.step = types.MethodType(seldom, optimizer)  # type: ignore[method-assign]
        optimizer.zero_grad = types.MethodType(kept, optimizer)  # type: ignore[method-assign]
