"""Training a part of the parameters: the last layer alone, or adapters beside the linear layers."""
from __future__ import annotations

import sys
from typing import Any, Optional

import torch
import torch.optim.optimizer as base
from torch.nn import Linear, Module, Parameter

from .remedy import Remedy


class Freeze(Remedy):
    """Gradients for the last module that has parameters, and for no other."""

    def __init__(self) -> None:
        super().__init__("no module with parameters is called for training")
        self._done = False

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Freezes the first module that is called for training."""
        if not self._done and torch.is_grad_enabled():
            own = [(name, m) for name, m in module.named_modules() if next(m.parameters(recurse=False), None) is not None]
            if own:
                self._done = True
                name, last = own[-1]
                module.requires_grad_(False)
                last.requires_grad_(True)
                self.places = sum(1 for p in module.parameters() if not p.requires_grad)
                self.did = f"requires_grad_(False) but for {name or type(last).__name__}"
        return args, kwargs


class LoRA(Remedy):
    """Two matrices of a low rank beside each linear layer; everything else is frozen."""

    def __init__(self, rank: int) -> None:
        super().__init__("no linear layer is called")
        self.rank = rank
        self._adapters: dict[int, tuple[Module, Parameter, Parameter]] = {}
        self._model: Optional[Module] = None
        self._new: list[Parameter] = []

    def install(self) -> None:
        """Has calls of linear layers pass by, and the first step of an optimizer."""
        self._wrap(Linear)
        transformers = sys.modules.get("transformers.pytorch_utils")
        if transformers is not None:
            self._wrap(transformers.Conv1D)
        base.register_optimizer_step_pre_hook(self._before_step)

    def _wrap(self, cls: Any) -> None:
        forward, lora = cls.forward, self

        def adapted(self: Module, x: torch.Tensor) -> Any:
            y = forward(self, x)
            if lora._model is None or not torch.is_grad_enabled():
                return y
            down, up = lora._adapter(self, x.shape[-1], y.shape[-1])
            return y + torch.nn.functional.linear(torch.nn.functional.linear(x, down), up) * 2.0

        cls.forward = adapted
        cls._ullage_lora = True

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Freezes the first module that is called for training."""
        if self._model is None and torch.is_grad_enabled() and next(module.parameters(), None) is not None:
            transformers = sys.modules.get("transformers.pytorch_utils")
            if transformers is not None and not hasattr(transformers.Conv1D, "_ullage_lora"):
                self._wrap(transformers.Conv1D)
            self._model = module
            module.requires_grad_(False)
        return args, kwargs

    def _adapter(self, layer: Module, inputs: int, outputs: int) -> tuple[Parameter, Parameter]:
        found = self._adapters.get(id(layer))
        if found is None:
            like: Any = layer.weight
            down = Parameter(torch.empty(self.rank, inputs, dtype=like.dtype, device=like.device))
            up = Parameter(torch.zeros(outputs, self.rank, dtype=like.dtype, device=like.device))
            found = self._adapters[id(layer)] = layer, down, up
            self._new += [down, up]
            self.places += 1
            self.did = f"adapters of rank {self.rank} beside {self.places} linear layers, the rest frozen"
        return found[1:]

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._new:
            new, self._new = self._new, []
            optimizer.add_param_group({"params": new})
