"""Other optimizers, and other kernels of the same one."""
from __future__ import annotations

import types
from typing import Any, Callable, Optional

import torch
import torch.optim.optimizer as base
from torch.optim import Optimizer

from .remedy import Remedy


class Kernels(Remedy):
    """An option of all optimizers' parameter groups: foreach=False, or fused=True."""

    def __init__(self, option: str, value: bool) -> None:
        self.option, self.value = option, value
        super().__init__(f"no optimizer that steps has the option {option}")
        self._seen: set[int] = set()

    def install(self) -> None:
        """Has each optimizer pass by before its first step, in which it makes its state."""
        base.register_optimizer_step_pre_hook(self._before)

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if id(optimizer) in self._seen:
            return
        self._seen.add(id(optimizer))
        other = "fused" if self.option == "foreach" else "foreach"
        for group in optimizer.param_groups:
            if self.option not in group or (self.option == "foreach" and group.get("fused")):
                continue
            if group[self.option] == self.value:
                self.did = f"{type(optimizer).__name__} has {self.option}={self.value} already"
                continue
            group[self.option] = self.value
            if other in group:
                group[other] = False
            if self.option == "fused":
                optimizer._step_supports_amp_scaling = True
            self.places += 1
            self.did = f"{type(optimizer).__name__} with {self.option}={self.value}"


class Adam8bit(Optimizer):
    """Takes the memory of bitsandbytes' AdamW8bit, and computes nothing of use: a byte for each of two states of an element and a
    float32 for each 256 of them, states of float32 for tensors of fewer than 4,096 elements, no temporaries. (bitsandbytes,
    optim/optimizer.py: Optimizer2State.init_state, min_8bit_size.)"""

    BLOCK, LEAST = 256, 4096

    def __init__(self, params: Any, lr: float = 1e-3) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Makes the states in the first step, and writes to them."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._update(p, self.state[p])
        return loss

    def _update(self, p: torch.Tensor, state: Any) -> None:
        if not state:
            dtype = torch.uint8 if p.numel() >= self.LEAST else torch.float32
            for i in "12":
                state["state" + i] = torch.zeros_like(p, dtype=dtype)
                if dtype is torch.uint8:
                    state["absmax" + i] = torch.zeros(-(-p.numel() // self.BLOCK), device=p.device)
        for value in state.values():
            value.zero_()
        p.mul_(1)


_BY_NAME: dict[str, tuple[Any, str]] = {
    "sgd": (lambda params: torch.optim.SGD(params, 1e-3), "torch.optim.SGD without momentum"),
    "adafactor": (lambda params: torch.optim.Adafactor(params, 1e-3), "torch.optim.Adafactor"),
    "adam8bit": (Adam8bit, "states of the sizes that bitsandbytes' AdamW8bit has"),
}


class Replace(Remedy):
    """Another optimizer steps in place of each that the program makes, over the same parameters."""

    def __init__(self, name: str) -> None:
        self._make, self._is = _BY_NAME[name]
        super().__init__("the program made no optimizer, or none that steps")
        self._making = False

    def install(self) -> None:
        """Has every optimizer that is made pass by."""
        patch, replace = Optimizer._patch_step_function, self

        def _patch_step_function(self: Optimizer) -> None:  # which both __init__ and __setstate__ call
            patch(self)
            if not replace._making:
                replace._stand_in(self)

        Optimizer._patch_step_function = _patch_step_function  # type: ignore[method-assign]

    def _stand_in(self, optimizer: Optimizer) -> None:
        other: list[Optimizer] = []  # made at the first step: groups may be added until then

        def step(old: Optimizer, closure: Any = None) -> Any:
            if not other:
                self._making = True
                other.append(self._make([p for group in old.param_groups for p in group["params"]]))
                self._making = False
                old.state.clear()  # which some make at once
                self.places += 1
                self.did = f"{self._is} in place of {type(old).__name__}"
            return other[0].step(closure) if closure is not None else other[0].step()

        optimizer.step = types.MethodType(step, optimizer)  # type: ignore[method-assign]
