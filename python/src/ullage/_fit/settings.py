"""Settings of torch that change what operators do, and with it the memory that they take for themselves."""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from .trace import Trace

_c: Any = torch._C
_GETTERS = {
    "cudnn.enabled": "_get_cudnn_enabled",
    "cudnn.benchmark": "_get_cudnn_benchmark",
    "cudnn.deterministic": "_get_cudnn_deterministic",
    "cudnn.allow_tf32": "_get_cudnn_allow_tf32",
    "matmul.allow_tf32": "_get_cublas_allow_tf32",
    "matmul.allow_fp16_reduced_precision_reduction": "_get_cublas_allow_fp16_reduced_precision_reduction",
    "deterministic": "_get_deterministic_algorithms",
    "preferred_blas": "_get_blas_preferred_backend",
}


class Settings:
    """Writes the settings at the start, and those that have changed before an operator runs."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._getters: list[tuple[str, Callable[[], Any]]] = [(name, getattr(_c, getter)) for name, getter in _GETTERS.items() if hasattr(_c, getter)]
        self._last: Optional[list[Any]] = None

    def look(self) -> None:
        """Writes what is not as it was at the last look."""
        values = [_ask(getter) for _, getter in self._getters]
        if values == self._last:
            return
        before = self._last or [None] * len(values)
        for (name, _), old, value in zip(self._getters, before, values):
            if self._last is None or value != old:
                plain = isinstance(value, (bool, int)) or value is None
                self.trace.line("set", name=name, value=value if plain else str(value).rsplit(".", 1)[-1])
        self._last = values


def _ask(getter: Callable[[], Any]) -> Any:
    """A setting's value, or None where torch does not tell: it refuses once old and new ways of setting it were mixed."""
    try:
        value = getter()
    except RuntimeError:
        return None
    return value[0] if isinstance(value, tuple) else value
