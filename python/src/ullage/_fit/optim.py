"""Optimizers: the choice between kernels for lists and loops is as on a GPU, steps are counted, and what lives is given its name."""
from __future__ import annotations

from typing import Any, Iterator

import torch
import torch.optim.optimizer as base
from torch._subclasses.fake_tensor import FakeTensor

from .mode import TraceMode
from .stop import Stopper
from .storages import Storages
from .trace import Trace, caller


class Steps:
    """Follows the steps of all optimizers."""

    def __init__(self, trace: Trace, storages: Storages, mode: TraceMode, stopper: Stopper) -> None:
        self.trace, self.storages, self.mode, self.stopper = trace, storages, mode, stopper
        self.names: dict[int, str] = {}  # of parameters, by the tensor's id, for those seen in a module that was called

    def install(self) -> None:
        """Has fakes count as ordinary tensors where an optimizer chooses its kernels, and every step pass by."""
        supported = getattr(base, "_foreach_supported_types", None)
        if supported is not None and FakeTensor not in supported:
            supported.append(FakeTensor)
        base.register_optimizer_step_pre_hook(self._before)
        base.register_optimizer_step_post_hook(self._after)
        patch, stopper = base.Optimizer._patch_step_function, self.stopper

        def _patch_step_function(self: base.Optimizer) -> None:  # which both __init__ and __setstate__ call
            stopper.may_train = True
            patch(self)

        base.Optimizer._patch_step_function = _patch_step_function  # type: ignore[method-assign]

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.mode.in_optimizer = True

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.mode.in_optimizer = False
        count = self.stopper.step(optimizer)
        stack = self.trace.stack(caller())
        self.trace.line("step", what="optimizer", id=self.stopper.number(optimizer), n=count, k=stack if stack >= 0 else None)
        last = self.stopper.is_last()
        if count == 1 or last:
            for storage, kind, name in self._holdings(optimizer):
                self._tag(storage, kind, name)
        self.trace.flush()
        self.stopper.after_step()

    def learn_names(self, module: torch.nn.Module) -> None:
        """Remembers the names of a module's parameters, and names its buffers."""
        for name, param in module.named_parameters():
            self.names[id(param)] = name
        for name, buffer in module.named_buffers():
            self._tag(buffer, "buffer", name)

    def _holdings(self, optimizer: Any) -> Iterator[tuple[torch.Tensor, str, str]]:
        for group in optimizer.param_groups:
            for param in group["params"]:
                name = self.names.get(id(param), "")
                yield param, "param", name
                if param.grad is not None:
                    yield param.grad, "grad", name
                for key, value in optimizer.state.get(param, {}).items():
                    if isinstance(value, torch.Tensor):
                        yield value, "state", f"{name}.{key}"

    def _tag(self, t: torch.Tensor, kind: str, name: str) -> None:
        if isinstance(t, FakeTensor) and t.layout is torch.strided:
            living = self.storages.find(t.untyped_storage())
            if living is not None:
                self.trace.line("tag", id=living.id, name=name or None, **{"as": kind})
