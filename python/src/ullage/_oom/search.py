"""Which batch size to try next, from what the trials so far have used. Pure arithmetic: no torch, no device.

A step's memory grows with its batch in straight lines: base + slope * size, with a line for each phase of the step (forward and
backward; what comes with and after the optimizer), of which the highest counts. Two trials give the lines, a third sits where they
meet the limit, and what is left of the six narrows what the lines don't know: rounding, fragmentation, another algorithm of cuDNN.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence

FIRST_SHARE = 0.7  # of what the first trial promises, for the second: far enough to measure by, with room for being wrong
FAILED_SHARE = 0.985  # of what a failed trial had allocated at its highest, for the next
APART = 0.8  # of the size of the larger, at most, for the smaller of two trials that a line is drawn through
MAX_GROWTH = 64  # times the largest size that fits, for the next: a step of a million samples may take all of the main memory


@dataclass(frozen=True)
class Trial:
    """One size that was tried, for a few steps. Amounts are of the rank that needed most."""

    size: int
    fits: bool
    peak_allocated_bytes: int  # from the second step on, once optimizer states exist; of what succeeded, where it doesn't fit
    peak_reserved_bytes: int
    seconds: float  # all steps together
    flushes: int  # times that the allocator gave its cache back in the last step, which is slow
    base_bytes: int  # allocated before the second step: parameters, optimizer states, and what else stays
    limit_bytes: int  # what the allocator could reserve during the trial
    phases_bytes: tuple[int, ...] = ()  # peak allocated in each phase of a step


@dataclass(frozen=True)
class Bounds:
    """Sizes that may be tried: multiples of multiple_of from smallest to largest. tolerance is a share of the size."""

    smallest: int
    largest: int
    multiple_of: int
    start: int
    tolerance: float

    def floor(self, size: float) -> int:
        """The largest size allowed that is not above size, or else the smallest."""
        capped = min(float(self.largest), size)
        return max(self.smallest, int(capped) // self.multiple_of * self.multiple_of)


def largest_that_fits(trials: Sequence[Trial]) -> Optional[Trial]:
    """The best trial so far, or None."""
    return max((t for t in trials if t.fits), key=lambda t: t.size, default=None)


def smallest_that_fails(trials: Sequence[Trial]) -> Optional[Trial]:
    """The failed trial that bounds the search from above, or None."""
    return min((t for t in trials if not t.fits), key=lambda t: t.size, default=None)


def propose(trials: Sequence[Trial], bounds: Bounds, limit_bytes: float) -> Optional[int]:
    """The size to try next, or None when the largest that fits is known to within the tolerance."""
    best, failed = largest_that_fits(trials), smallest_that_fails(trials)
    if best is None:
        if failed is None:
            return bounds.start
        return None if failed.size <= bounds.smallest else bounds.floor(failed.size // 8)
    top = upper(trials, bounds, limit_bytes)
    if top - best.size <= bounds.tolerance * best.size:
        return None
    wanted = bounds.floor(min(_aim(trials, best, failed, limit_bytes), best.size * MAX_GROWTH, top))
    if wanted <= best.size:
        wanted = bounds.floor((best.size + top + bounds.multiple_of) / 2)
    return wanted if best.size < wanted <= top else best.size + bounds.multiple_of


def upper(trials: Sequence[Trial], bounds: Bounds, limit_bytes: float) -> int:
    """The largest size that the trials don't rule out: below what failed, and not allocating more than there is."""
    best, failed = largest_that_fits(trials), smallest_that_fails(trials)
    top = bounds.largest if failed is None else bounds.floor(failed.size - bounds.multiple_of)
    passed = [t for t in trials if t.fits]
    if len(passed) > 1 and best is not None:
        top = min(top, bounds.floor(_reach(passed, limit_bytes)))
    return max(top, best.size if best else bounds.smallest)


def _aim(trials: Sequence[Trial], best: Trial, failed: Optional[Trial], limit_bytes: float) -> float:
    passed = [t for t in trials if t.fits]
    if len(passed) == 1:
        # What is above the base is taken to grow with the size in full. Some of it doesn't (gradients, workspaces), so the size
        # that this gives is too small rather than too large.
        per_sample = max(best.peak_allocated_bytes - best.base_bytes, 1) / best.size
        promised = (limit_bytes - best.base_bytes) / per_sample
        return promised * FIRST_SHARE if promised > best.size * 2 else promised
    if failed is not None:
        # The first failed trial has shown how much can really be allocated when the limit is reached, which fragmentation decides.
        # After a second, the lines have told what they can: halving what is left gets further.
        failures = sum(not t.fits for t in trials)
        return _reach(passed, failed.peak_allocated_bytes * FAILED_SHARE) if failures == 1 else 0
    return _reach(passed, limit_bytes * best.peak_allocated_bytes / max(best.peak_reserved_bytes, 1))


def _reach(passed: Sequence[Trial], level_bytes: float) -> float:
    """The size at which the highest of the lines through two trials reaches a level; infinite where none rises.

    The trials are the largest, and the largest that is well below it: over a short distance rounding passes for a slope.
    """
    high = max(passed, key=lambda t: t.size)
    others = [t for t in passed if t is not high]
    low = max((t for t in others if t.size <= APART * high.size), key=lambda t: t.size, default=min(others, key=lambda t: t.size))
    sizes = [float("inf")]
    for below, above in zip(low.phases_bytes, high.phases_bytes):
        slope = (above - below) / (high.size - low.size)
        if slope > 0:
            sizes.append(high.size + (level_bytes - above) / slope)
        elif above > level_bytes:
            sizes.append(high.size)
    return min(sizes)
