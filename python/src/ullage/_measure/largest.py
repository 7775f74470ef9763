"""The largest batch that fits, from real steps with other numbers of samples."""
from __future__ import annotations

from dataclasses import replace
from typing import Any, Callable, Optional, Sequence

from .._oom.search import Bounds, Trial, largest_that_fits, propose, smallest_that_fails, upper
from .._torch import memory
from . import observed
from .rehearsal import Step

MORE_SIZES = 3  # that are tried
MOST_SIZES = 5  # where so few did not show where the largest lies
FOREIGN = 0.005  # share of the memory that a failed step may have been short of because of the program's own batch
TOLERANCE = 0.05  # of the size, within which nothing more is tried
_NO_BOUND = 1 << 40  # samples


class Sizes:
    """Tries sizes of a batch.

    run          runs steps of a size as a training begins; returns the second, which finds the optimizer's states, or the one that failed
    usable_bytes what the process could have allocated at a step's peak
    """

    def __init__(self, batch: Any, size: int, device: int, run: Callable[[int], Step], usable_bytes: int) -> None:
        self.size, self.run, self.usable_bytes = size, run, usable_bytes
        self.trials: list[Trial] = []
        self.notes: list[str] = []
        self._bounds = Bounds(1, _NO_BOUND, 1, size, TOLERANCE)
        lying = (t.untyped_storage() for t in observed.tensors(batch) if memory.lies_on(t.device, device))
        self._batch_bytes = sum({storage.data_ptr(): int(storage.nbytes()) for storage in lying}.values())

    def search(self, steps: Sequence[Step]) -> None:
        """Begins with the steps of the batch itself. A first step alone had no room for itself, or for the states that come."""
        self._note(self.size, steps[1] if len(steps) > 1 else replace(steps[0], fits=False))
        self._search()
        passed = self._passed()
        if len(passed) == 1 and passed[0].size > 1:  # the device is full with it: a smaller one gives the line
            half = passed[0].size // 2
            self._note(half, self.run(half))

    def _search(self) -> None:
        for count in range(MOST_SIZES):
            # The program's own batch stays on the device meanwhile.
            size = propose(self.trials, self._bounds, self.usable_bytes - self._batch_bytes)
            if size is None or count >= MORE_SIZES and self._is_bounded():
                return
            self._note(size, self.run(size))

    def _is_bounded(self) -> bool:
        """Whether there is a line, or a size that fits and is not far from one that doesn't, so that half of it gives one."""
        best, failed = largest_that_fits(self.trials), smallest_that_fails(self.trials)
        return len(self._passed()) > 1 or best is not None and failed is not None and 2 * best.size >= failed.size

    def _passed(self) -> list[Trial]:
        return [t for t in self.trials if t.fits]

    def _note(self, size: int, step: Step) -> None:
        """Notes the peaks of a size, less what of the program's own batch only stays on the device."""
        spare = self._spare_bytes(size)
        phases = tuple(max(0, peak - spare) for peak in (step.before_optimizer_bytes, step.after_optimizer_bytes))
        reserved, base = step.reserved_bytes - spare, step.base_bytes - spare
        self.trials.append(Trial(size, step.fits, max(phases), reserved, 0.0, step.retries, base, self.usable_bytes, phases))

    def _spare_bytes(self, size: int) -> int:
        """A smaller batch is a view of the program's; a larger one a copy beside it."""
        used = size / self.size if size <= self.size else 0.0
        return self._batch_bytes - int(self._batch_bytes * used)

    def best(self) -> Optional[int]:
        """The largest size that a step fitted with, or None."""
        best = largest_that_fits(self.trials)
        return None if best is None else best.size

    def largest(self) -> Optional[int]:
        """Where the lines through the peaks of two sizes reach what is usable, less the share that the allocator holds and can't use."""
        best = largest_that_fits(self.trials)
        if best is None or len(self._passed()) < 2:
            return None
        usable = self.usable_bytes * best.peak_allocated_bytes / max(best.peak_reserved_bytes, 1)
        telling = [t for t in self.trials if t.fits or self._spare_bytes(t.size) <= FOREIGN * self.usable_bytes]
        largest = upper(telling, self._bounds, usable)
        if largest < _NO_BOUND:
            return largest
        self.notes.append("the peak does not grow with the batch, so that no largest one follows")
        return None
