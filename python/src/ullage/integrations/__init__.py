"""Ullage beside the libraries that run trainings: their callbacks, and the allocator's counters in whatever logs.

    from ullage.integrations import TransformersCallback, LightningCallback, AccelerateTracker, Series

Each is imported when it is first used, and with it the library that it is for; importing this package imports none of them.
"""
from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accelerate import AccelerateTracker as AccelerateTracker
    from .lightning import LightningCallback as LightningCallback
    from .series import Series as Series
    from .transformers import TransformersCallback as TransformersCallback

_PUBLIC = {
    "AccelerateTracker": ".accelerate",
    "LightningCallback": ".lightning",
    "Series": ".series",
    "TransformersCallback": ".transformers",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'ullage.integrations' has no attribute {name!r}")
    value = getattr(importlib.import_module(module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
