"""The names of all remedies, and how a program gets them."""
from __future__ import annotations

import threading
from typing import Any, Callable, Iterable

import torch
from torch.nn import Module

from . import accumulate, checkpoint, freeze, optimizers, precision
from .remedy import Remedy

Note = Callable[[str, int, str], None]  # name of the remedy, places that it was applied to, what was done


_MAKERS: dict[str, Callable[[str], Remedy]] = {
    "checkpoint": lambda _: checkpoint.Checkpoint(),
    "autocast": lambda dtype: precision.Autocast(dtype or "bfloat16"),
    "bf16": lambda _: precision.Convert("bfloat16"),
    "fp16": lambda _: precision.Convert("float16"),
    "foreach": lambda _: optimizers.Kernels("foreach", False),
    "fused": lambda _: optimizers.Kernels("fused", True),
    "sgd": lambda _: optimizers.Replace("sgd"),
    "adafactor": lambda _: optimizers.Replace("adafactor"),
    "adam8bit": lambda _: optimizers.Replace("adam8bit"),
    "accumulate": lambda k: accumulate.Accumulate(int(k or 2)),
    "freeze": lambda _: freeze.Freeze(),
    "lora": lambda rank: freeze.LoRA(int(rank or 16)),
}


def names() -> list[str]:
    """Of all remedies."""
    return sorted(_MAKERS)


class Remedies:
    """Those that one process gets: specs are names, each with a value after an equals sign where it takes one ("lora=16")."""

    def __init__(self, specs: Iterable[str], note: Note) -> None:
        self.note = note
        self._all: list[tuple[str, Remedy]] = []
        self._told: dict[str, tuple[int, str]] = {}
        self._here = threading.local()
        for spec in specs:
            name, _, value = spec.partition("=")
            if name not in _MAKERS:
                raise ValueError(f"no remedy is called {name!r}: expected one of {', '.join(names())}")
            self._all.append((name, _MAKERS[name](value)))

    def install(self) -> None:
        """Puts them in place. Every call of an outermost module passes by from here on."""
        for _, remedy in self._all:
            remedy.install()
        call: Any = Module._call_impl
        remedies = self

        def _call_impl(self: Module, *args: Any, **kwargs: Any) -> Any:
            here = remedies._here
            recomputing = torch._C._current_graph_task_id() >= 0  # in a thread of autograd's, for which no module is outermost
            if recomputing or getattr(here, "inside", False):
                return call(self, *args, **kwargs)
            here.inside = True
            try:
                for _, remedy in remedies._all:
                    args, kwargs = remedy.before_call(self, args, kwargs)
                return call(self, *args, **kwargs)
            finally:
                here.inside = False

        Module._call_impl = _call_impl  # type: ignore[method-assign]
        Module.__call__ = _call_impl  # type: ignore[method-assign]

    def report(self) -> None:
        """Tells of each what was done: nothing, too."""
        for name, remedy in self._all:
            if self._told.get(name) != (remedy.places, remedy.did):
                self._told[name] = remedy.places, remedy.did
                self.note(name, remedy.places, remedy.did)
