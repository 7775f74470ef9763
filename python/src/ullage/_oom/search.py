"""Which batch size to try next, from what the trials so far have used. Pure arithmetic: no torch, no device.

A step's memory grows with its batch in straight lines: base + slope * size, with a line for each phase of the step (forward and
backward; what comes with and after the optimizer), of which the highest counts. Two trials give the lines, a third sits where they
meet the limit, and what is left of the six narrows what the lines don't know: rounding, fragmentation, another algorithm of cuDNN.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Sequence

FIRST_SHARE = 0.7  # of what the first trial promises, for the second: far enough to measure by, with room for being wrong
FAR, FAR_SHARE = 2, 0.9  # a size more than so many times the largest measured is approached in two trials, the first at this share
CACHE_SHARE = 1 / 3  # of what is reserved beyond what is allocated, that is taken to be lost
STRAIGHT = 0.995  # of where the lines end: they aren't quite straight, and a failed trial costs more than half a percent
FAILED_SHARE = 0.985  # of what a failed trial had allocated, with half of what it asked for, for the next
USUAL_SHARE = 0.955  # of the limit, that can be allocated in spite of fragments, where a failed trial doesn't tell otherwise
BACK_OFF = (0.04, 0.08, 0.3)  # of the way down from what failed to what fits, after as many failures: the lines were wrong by more
NEAR, NEAR_FAILED = 0.05, 0.15  # of the size: a gap that is halved, whatever the lines say; once they have been wrong, a wider one
APART = 0.8  # of the size of the larger, at most, for the smaller of two trials that a line is drawn through
MAX_GROWTH = 1024  # times the largest size that fits, for the next: where nothing grows, a step may take all of the main memory


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
    asked_bytes: int = 0  # what the allocation that failed had asked for, on top of what was allocated


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


def propose(trials: Sequence[Trial], bounds: Bounds, limit_bytes: float, last: bool = False) -> Optional[int]:
    """The size to try next, or None when the largest that fits is known to within the tolerance.

    last says that there is no trial after this one: then it is not the moment to rely on the lines.
    """
    best, failed = largest_that_fits(trials), smallest_that_fails(trials)
    if best is None:
        if failed is None:
            return bounds.start
        return None if failed.size <= bounds.smallest else bounds.floor(failed.size // 8)
    top = upper(trials, bounds, limit_bytes)
    if top - best.size <= bounds.tolerance * best.size:
        return None
    near = last and failed is not None or top - best.size <= (NEAR_FAILED if failed else NEAR) * best.size
    wanted = 0 if near else bounds.floor(min(_aim(trials, best, failed, limit_bytes), best.size * MAX_GROWTH, top))
    if wanted <= best.size:
        wanted = bounds.floor((best.size + top + bounds.multiple_of) / 2)
    return wanted if best.size < wanted <= top else best.size + bounds.multiple_of


def upper(trials: Sequence[Trial], bounds: Bounds, limit_bytes: float) -> int:
    """The largest size that the trials don't rule out: below what failed, and not allocating more than there is."""
    best, failed = largest_that_fits(trials), smallest_that_fails(trials)
    top = bounds.largest if failed is None else bounds.floor(failed.size - bounds.multiple_of)
    if best is None:
        return max(top, bounds.smallest)
    if _has_lines(trials):
        top = min(top, bounds.floor(_reach(trials, limit_bytes)))
    return max(top, best.size)


def fixed_bytes(trials: Sequence[Trial]) -> int:
    """What a step needs whatever its size, as far as the trials tell: what stays between steps, or where the lines begin."""
    base = max((t.base_bytes for t in trials), default=0)
    return max([base, *(int(at_0) for at_0, _, above in _lines(trials) if above)]) if _has_lines(trials) else base


def grows(trials: Sequence[Trial]) -> bool:
    """Whether a step's memory has grown with its size, as far as the trials tell: a single one tells nothing."""
    return not _has_lines(trials) or any(slope > 0 for _, slope, _ in _lines(trials))


def _aim(trials: Sequence[Trial], best: Trial, failed: Optional[Trial], limit_bytes: float) -> float:
    if failed is not None:
        return _aim_below(trials, best, failed)
    if not _has_lines(trials):
        # What is above the base is taken to grow with the size in full. Some of it doesn't (gradients, workspaces), so the size
        # that this gives is too small rather than too large.
        before_optimizer = best.phases_bytes[0] or best.peak_allocated_bytes
        per_sample = max(before_optimizer - best.base_bytes, 1) / best.size
        promised = (limit_bytes - best.base_bytes) / per_sample
        return max(promised * FIRST_SHARE, min(promised, best.size * 2), best.size * 1.5)
    # What was reserved beyond what was allocated is partly cache, which goes when it is needed, and partly fragments, which don't.
    usable = 1 - CACHE_SHARE * (1 - best.peak_allocated_bytes / max(best.peak_reserved_bytes, 1))
    size = _reach(trials, limit_bytes * usable * STRAIGHT)
    return size * FAR_SHARE if size > best.size * FAR else size


def _aim_below(trials: Sequence[Trial], best: Trial, failed: Trial) -> float:
    """Below a size that failed. The first failure shows how much can really be allocated, which fragmentation decides."""
    failures = sum(not t.fits for t in trials)
    back = failed.size - (failed.size - best.size) * BACK_OFF[min(failures, len(BACK_OFF)) - 1]
    if failures > 1 or not _has_lines(trials):
        return back
    # So much could be allocated; at most asked_bytes more, of which fragments usually leave most.
    shown = (failed.peak_allocated_bytes + failed.asked_bytes / 2) * FAILED_SHARE
    usual = min(failed.limit_bytes * USUAL_SHARE, failed.peak_allocated_bytes + failed.asked_bytes * 0.8)
    return min(back, _reach(trials, max(shown, usual)))


def _has_lines(trials: Sequence[Trial]) -> bool:
    return sum(t.fits for t in trials) > 1


def _lines(trials: Sequence[Trial]) -> list[tuple[float, float, bool]]:
    """For each phase the line through two trials that fit: bytes at size 0, bytes per sample, and whether it is the highest.

    The trials are the largest, and the largest that is well below it: over a short distance rounding passes for a slope.
    """
    passed = [t for t in trials if t.fits]
    high = max(passed, key=lambda t: t.size)
    others = [t for t in passed if t is not high]
    low = max((t for t in others if t.size <= APART * high.size), key=lambda t: t.size, default=min(others, key=lambda t: t.size))
    lines = []
    for below, above in zip(low.phases_bytes, high.phases_bytes):
        slope = (above - below) / (high.size - low.size)
        lines.append((above - slope * high.size, slope, above == max(high.phases_bytes)))
    return lines


def _reach(trials: Sequence[Trial], level_bytes: float) -> float:
    """The size at which the highest of the lines reaches a level; infinite where none rises to it."""
    return min((max(0.0, (level_bytes - at_0) / slope) for at_0, slope, _ in _lines(trials) if slope > 0), default=float("inf"))
