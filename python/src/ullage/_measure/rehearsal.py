"""Real steps of a training, measured by phase, and undone."""
from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence

from .. import _checks as checks
from .._oom import failure, saved
from .._oom.trial import Peaks
from .._torch import memory
from . import states


@dataclass(frozen=True)
class Step:
    """What one step took. Amounts are in bytes."""

    fits: bool
    base_bytes: int  # allocated before it
    before_optimizer_bytes: int  # the peak up to the optimizer's step: forward and backward pass
    after_optimizer_bytes: int  # the peak from there on; 0 if no optimizer stepped
    reserved_bytes: int  # the peak of what the allocator held from the driver
    end_bytes: int  # allocated after it
    states_bytes: int  # of optimizers, after it
    inactive_bytes: int  # free pieces of segments in use, after it
    retries: int  # allocations that had to flush the cache first
    error: Optional[str] = None  # the message of the lack of memory

    @property
    def peak_bytes(self) -> int:
        return max(self.before_optimizer_bytes, self.after_optimizer_bytes)


class Rehearsal:
    """Runs steps on a device. What they change is saved before, in main memory, and put back by undo().

    Raises TypeError for what can't be put back.
    """

    def __init__(self, models: Sequence[Any], optimizers: Sequence[Any], others: Sequence[Any], device: int) -> None:
        self.device = device
        self.optimizers = list(optimizers)
        self.stepped: list[Any] = []  # the optimizers that have stepped
        self.states_before_bytes = states.held_bytes(optimizers, device)
        self._known = {id(p) for model in models for p in model.parameters()}
        self._undo = [*saved.save([*models, *optimizers, *others]), saved.save_random()]

    def run(self, call: Callable[[], object]) -> Step:
        """Runs one step. A lack of memory is part of the result; any other error is raised."""
        memory.reset_peaks(self.device)
        start = memory.read(self.device)
        phases, error = _Phases(self.device, self._meet), None
        handled = sys.exc_info()[1]
        try:
            with phases:
                checks.ran("step", call())
        except Exception as err:
            error = failure.message_of(err, handled)
            if error is None:
                raise
            failure.let_go(err, handled)
        now, peaks = memory.read(self.device), phases.peaks
        return Step(
            error is None, start.allocated_bytes, peaks.phases_bytes[0], peaks.phases_bytes[1], peaks.reserved_bytes, now.allocated_bytes,
            states.held_bytes(self.optimizers, self.device), now.inactive_split_bytes, now.retries - start.retries, error)

    def _meet(self, optimizer: Any) -> None:
        """Notes an optimizer that is about to step, and saves one that was not given: its first step here is still to come."""
        if any(optimizer is one for one in self.stepped):
            return
        strangers = [p for group in optimizer.param_groups for p in group["params"] if id(p) not in self._known]
        if strangers:
            raise ValueError(
                f"the step steps a {type(optimizer).__name__} with {len(strangers)} parameters of another model, which could not be"
                " put back. hint: give all models, as preflight([generator, discriminator], step)")
        if not any(optimizer is one for one in self.optimizers):
            self._undo += saved.save([optimizer])
            self.states_before_bytes += states.held_bytes([optimizer], self.device)
            self.optimizers.append(optimizer)
        self.stepped.append(optimizer)

    def undo(self) -> None:
        """Puts everything back that was saved, and gives the cache back."""
        for put in self._undo:
            put()
        memory.collect()


class _Phases:
    """Splits the peaks of a step where its first optimizer steps. met is called with every optimizer that is about to."""

    def __init__(self, device: int, met: Callable[[Any], None]) -> None:
        self.peaks, self._met, self._phase = Peaks(device, [0, 0]), met, 0

    def __enter__(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        self._hook = register_optimizer_step_pre_hook(self._before)

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.peaks.close(self._phase)
        self._phase = 1
        self._met(optimizer)

    def __exit__(self, *error: Any) -> None:
        self._hook.remove()
        self.peaks.close(self._phase)
