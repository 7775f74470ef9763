"""The allocator's counters as a series in whatever logs: TensorBoard, W&B, MLflow, Accelerate, a function that takes a dict."""
from __future__ import annotations

import inspect
import time
from typing import Any, Callable, Optional

from .. import _checks as checks
from .._torch import api, counters, memory

_LOGS = "something with add_scalar(), log_metrics() or log(), or a function of a dict"
Log = Callable[[dict[str, float], Optional[int]], None]


class Series:
    """Logs the allocator's counters of the devices in use, at most so often.

        series = Series(SummaryWriter())        # or wandb, mlflow, an Accelerator, a logger of Lightning's, print
        for step, batch in enumerate(loader):
            train(batch)
            series.step(step)

    target         what logs: something with add_scalar(), log_metrics() or log(), or a function. It is given the step if it has a parameter
                   of that name; W&B is not, and has the figures put to the program's own next log(), whose steps they share
    every_seconds  the least time between two entries of the series
    every_steps    only steps that are a multiple of it; the first has the number 0 where none are given
    prefix         of the names, which are those of `ullage run`: memory/cuda0/allocated_bytes, memory/cuda0/retries; see docs/run.md

    Amounts are in bytes. A step that is not logged costs a look at the clock; none waits for the GPU. Nothing is logged before the process
    uses CUDA. Raises TypeError for a target that can't log.
    """

    def __init__(
        self, target: Any, *, every_seconds: float = 10.0, every_steps: int = 1, prefix: str = "memory/",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = sink_of(target)
        self.every_seconds = checks.seconds("every_seconds", every_seconds)
        self.every_steps = checks.whole("every_steps", every_steps, least=1)
        self.prefix = checks.text("prefix", prefix)
        self._clock = checks.function("clock", clock, given="nothing", arguments=0)
        self._count = 0
        self._last: Optional[float] = None

    def step(self, step: Optional[int] = None) -> bool:
        """Logs the counters if they are due. Returns whether it did."""
        number = self._count if step is None else checks.whole("step", step)
        self._count += 1
        now = self._clock()
        if number % self.every_steps or self._last is not None and now - self._last < self.every_seconds:
            return False
        values = figures(self.prefix)
        if not values:
            return False
        self._last = now
        self._log(values, number)
        return True


def figures(prefix: str = "memory/") -> dict[str, float]:
    """The counters of all devices in use, by the names of a series; empty before CUDA is used."""
    import torch

    if not memory.in_use():
        return {}
    return {
        f"{prefix}cuda{device}/{name}": float(value)
        for device, stats in api.used_devices(torch).items() for name, value in counters.of(stats).items()
    }


def sink_of(target: Any) -> Log:
    """A function that logs a dict of numbers at a step, for whatever target is."""
    if isinstance(target, type):
        raise checks.wrong("what is to log", target, _LOGS, "an instance of it, not the class")
    if hasattr(target, "add_scalar"):
        return lambda values, step: _add_scalars(target, values, step)
    for name in ("log_metrics", "log"):
        if callable(getattr(target, name, None)):
            return _function(getattr(target, name))
    if callable(target):
        return _function(target)
    raise checks.wrong("what is to log", target, _LOGS)


def _add_scalars(writer: Any, values: dict[str, float], step: Optional[int]) -> None:
    for name, value in values.items():
        writer.add_scalar(name, value, step)


def _function(log: Callable[..., Any]) -> Log:
    try:
        known = set(inspect.signature(log).parameters)
    except (TypeError, ValueError):  # a function of C
        known = set()
    named = ("commit",) if {"commit", "step"} <= known else ("step",) if "step" in known else ()
    if not checks.takes(log, 1, *named):
        raise checks.wrong("what is to log", log, f"{_LOGS}: it can't be called with one")
    if named == ("commit",):  # W&B ignores a step that is behind its own, and adds what is not committed to the next entry
        return lambda values, step: log(values, commit=False)
    if named == ("step",):
        return lambda values, step: log(values, step=step)
    return lambda values, step: log(values)
