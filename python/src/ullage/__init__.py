"""GPU memory of PyTorch, seen and governed from within a Python process.

The names below are imported when they are first used, so that `import ullage` costs nothing: it imports no torch. `ullage run`
puts this package on the path of the programs that it starts, where it watches them; see docs/run.md. Amounts are in bytes.
"""
from __future__ import annotations

TYPE_CHECKING = False  # every Python process that `ullage run` watches comes by here: nothing is imported but what is used
if TYPE_CHECKING:
    from typing import Any

# Public name: the module that has it. What a static checker needs to know of them stands in __init__.pyi.
_PUBLIC: dict[str, str] = {
    "__version__": "._version",
    "Fit": "._fit.ask",
    "fit": "._fit.ask",
    "FitError": "._fit.ask",
    "Growth": "._leaks.growth",
    "GrowthWarning": "._leaks.growth",
    "Holder": "._holders.result",
    "Holders": "._holders.result",
    "holders": "._holders.find",
    "measure": "._measure.block",
    "Measurement": "._measure.result",
    "Preflight": "._measure.outlook",
    "preflight": "._measure.preflight",
    "Release": "._leaks.release",
    "release": "._leaks.release",
    "snapshot": "._measure.snapshot",
    "step": "._leaks.watch",
    "Watch": "._leaks.watch",
    "watch": "._leaks.watch",
    "Cache": "._pool.cache",
    "Limit": "._pool.limit",
    "Pool": "._pool.pool",
    "PoolInUse": "._pool.errors",
    "PoolOutOfMemory": "._pool.errors",
    "limit": "._pool.limit",
    "retry_on_oom": "._oom.retry",
    "RankError": "._oom.ranks",
    "microbatch": "._oom.microbatch",
    "find_batch_size": "._oom.batch",
    "BatchSize": "._oom.batch",
}

__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    module = _PUBLIC.get(name)
    if module is None:
        raise AttributeError(f"module 'ullage' has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(module, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
