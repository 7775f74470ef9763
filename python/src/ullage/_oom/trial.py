"""One trial of find_batch_size: a few steps of a size, measured, under the limit that the result has to keep."""
from __future__ import annotations

import contextlib
import re
import sys
import time
from dataclasses import dataclass, replace
from typing import Any, Callable, Iterator, Optional

from .. import _checks as checks
from .._torch import memory
from . import failure
from .ranks import RankError, Ranks
from .search import Trial, fixed_bytes

_FITS, _OUT_OF_MEMORY, _ERROR = range(3)


@dataclass
class Peaks:
    """The peaks of a step's phases: up to the optimizer, and with it and after. They are followed by setting the counters back."""

    device: int
    phases_bytes: list[int]
    reserved_bytes: int = 0

    def close(self, phase: int) -> None:
        """Ends a phase: its peak counts, and the next begins."""
        now = memory.read(self.device)
        self.phases_bytes[phase] = max(self.phases_bytes[phase], now.peak_allocated_bytes)
        self.reserved_bytes = max(self.reserved_bytes, now.peak_reserved_bytes)
        memory.reset_peaks(self.device)

    def forget(self) -> None:
        """Begins anew, after a step that doesn't count."""
        memory.reset_peaks(self.device)
        self.phases_bytes, self.reserved_bytes = [0] * len(self.phases_bytes), 0


class Trials:
    """Runs trials of a step on a device, on all ranks alike."""

    def __init__(
        self, step: Callable[[int], object], device: int, steps: int, limit: Optional[int], margin: float, ranks: Ranks
    ) -> None:
        self.step, self.device, self.steps, self.limit, self.margin, self.ranks = step, device, steps, limit, margin, ranks
        self.done: list[Trial] = []
        self.stepped: list[Any] = []  # the optimizers that steps have used
        self.limit_bytes = 0  # what the size looked for may use
        self.last_error: Optional[BaseException] = None  # of the newest trial that didn't fit, without its frames

    def run(self, size: int) -> Trial:
        """Tries a size. Raises what the step raised, if that wasn't a lack of memory, and RankError where another rank failed so."""
        memory.collect()
        self._bound()
        handled = sys.exc_info()[1]
        trial, error = self._measure(size, handled)
        trial, code = self._of_all(trial, error, handled)
        if code == _ERROR:
            raise error if error is not None else RankError(f"a trial of size {size} failed on another rank: its log has the error")
        self.last_error = error or self.last_error
        self.done.append(trial)
        self._bound()
        return trial

    def _bound(self) -> None:
        """The limit as it is now: other processes and libraries take from the device at any time.

        The margin is a share of what is left for samples, not of the whole: so it costs that share of the size, whatever the model.
        """
        now = memory.read(self.device)
        capacity = now.allocated_bytes + memory.room_bytes(self.device, self.limit)
        margin = self.margin * max(0, capacity - fixed_bytes(self.done)) if self.done else 0
        self.limit_bytes = -self.ranks.highest([-int(capacity - margin)])[0]

    def _measure(self, size: int, handled: Optional[BaseException]) -> tuple[Trial, Optional[BaseException]]:
        peaks = Peaks(self.device, [0, 0])
        error: Optional[BaseException] = None
        started = time.perf_counter()
        base = flushes = 0
        try:
            with _limited(self.device, self.limit_bytes), self._watched(peaks):
                for number in range(self.steps):
                    if number <= 1:
                        peaks.forget()
                        base = memory.read(self.device).allocated_bytes
                    flushes = memory.read(self.device).retries
                    checks.ran("step", self.step(size))
                    peaks.close(1)
                memory.synchronize(self.device)
        except Exception as err:
            error = err
        now = memory.read(self.device)
        if error is not None:
            if failure.message_of(error, handled) is not None and failure.broken() is None:
                failure.let_go(error, handled)
            peaks.close(1)
        trial = Trial(size, error is None, max(peaks.phases_bytes), peaks.reserved_bytes, time.perf_counter() - started,
                      now.retries - flushes, base, self.limit_bytes, tuple(peaks.phases_bytes))
        return trial, error

    @contextlib.contextmanager
    def _watched(self, peaks: Peaks) -> Iterator[None]:
        """Splits the peaks at every step of any optimizer: its own memory doesn't grow with the batch, and would hide what does."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            peaks.close(0)
            if not any(optimizer is one for one in self.stepped):
                self.stepped.append(optimizer)

        handle = register_optimizer_step_pre_hook(before)
        try:
            yield
        finally:
            handle.remove()

    def _of_all(self, trial: Trial, error: Optional[BaseException], handled: Optional[BaseException]) -> tuple[Trial, int]:
        """The trial as all ranks saw it together: it fits if it fits everywhere, and needs what the neediest rank needed."""
        code = _FITS if error is None else _OUT_OF_MEMORY
        if error is not None and (failure.message_of(error, handled) is None or failure.broken() is not None):
            code = _ERROR
        # A failed trial tells how far memory goes: further than what was allocated, on the rank where that is least, and not as far
        # as what was asked for on top of it.
        reached = -trial.peak_allocated_bytes if code == _OUT_OF_MEMORY else -(2**62)
        asked = _asked_bytes(error) if code == _OUT_OF_MEMORY else 0
        code, asked, reached, reserved, base, flushes, *phases = self.ranks.highest(
            [code, asked, reached, trial.peak_reserved_bytes, trial.base_bytes, trial.flushes, *trial.phases_bytes])
        if code == _FITS and not _can_limit() and self.limit is not None and reserved > self.limit_bytes:
            code = _OUT_OF_MEMORY
        peak = -reached if code == _OUT_OF_MEMORY and reached > -(2**62) else max(phases)
        return replace(trial, fits=code == _FITS, peak_allocated_bytes=peak, peak_reserved_bytes=reserved, base_bytes=base,
                       flushes=flushes, phases_bytes=tuple(phases), asked_bytes=asked), code


def _asked_bytes(error: Optional[BaseException]) -> int:
    """What the allocation that failed had asked for, where the message says so."""
    found = re.search(r"Tried to allocate ([\d.]+) (bytes|KiB|MiB|GiB)", str(error))
    return int(float(found[1]) * {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[found[2]]) if found else 0


def _can_limit() -> bool:
    """Whether a limit can be set and put back: releases before 2.8 don't tell which one is set."""
    import torch

    return hasattr(torch.cuda, "get_per_process_memory_fraction")


@contextlib.contextmanager
def _limited(device: int, limit_bytes: int) -> Iterator[None]:
    """Has the allocator itself keep to a limit, fragmentation included, where that can be undone."""
    import torch

    if not _can_limit():
        yield
        return
    cuda: Any = torch.cuda
    before = float(cuda.get_per_process_memory_fraction(device))
    cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / memory.total_bytes(device)), device)
    try:
        yield
    finally:
        cuda.set_per_process_memory_fraction(before, device)
