"""A level over any number of steps, in a few numbers, and whether it grows.

Each number is the least level of a stretch of steps. So garbage that waits for Python's collector, and batches of different sizes,
count only by what is always there; and once there are too many stretches, each two become one, so that a run of any length has
been looked at as a whole and a slow growth is found as surely as a fast one, only later.
"""
from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Optional, Sequence

MAX_STRETCHES = 64
MIN_STRETCHES = 16  # before anything is said: the half that is judged then has 8
AGREEMENT = 0.6  # of the pairs of stretches, more that rise than that fall or stay; a single jump in the midst reaches 0.57 of 1
GOING_ON = 0.25  # share of the slope that the last quarter must still have: what levels off has none
NOISE_TIMES = 4  # so much has the growth to be above the typical distance from a straight line


@dataclass(frozen=True)
class Trend:
    """Growth of a level: bytes a step, over how many steps."""

    slope_bytes: float
    steps: int

    @property
    def grown_bytes(self) -> int:
        return int(self.slope_bytes * self.steps)


class Level:
    """The least levels of stretches of equal length."""

    def __init__(self) -> None:
        self.minima: list[int] = []
        self.stride = 1  # steps of a stretch
        self._now: Optional[int] = None
        self._count = 0

    def add(self, level_bytes: int) -> bool:
        """Takes the level of one step. True when that ends a stretch, so that there is something new to judge."""
        self._now = level_bytes if self._now is None else min(self._now, level_bytes)
        self._count += 1
        if self._count < self.stride:
            return False
        self.minima.append(self._now)
        self._now, self._count = None, 0
        if len(self.minima) == MAX_STRETCHES:
            self.minima = [min(pair) for pair in zip(self.minima[::2], self.minima[1::2])]
            self.stride *= 2
        return True

    def trend(self, min_bytes: int) -> Optional[Trend]:
        """The growth in the later half of the run, or None if it doesn't grow by min_bytes there and go on growing."""
        if len(self.minima) < MIN_STRETCHES:
            return None
        later = self.minima[len(self.minima) // 2:]
        if later[-1] - later[0] < min_bytes:  # most steps end here
            return None
        slope, agreement = theil_sen(later)
        noise = median(abs(y - slope * x) for x, y in enumerate(_about_zero(later, slope)))
        if slope * (len(later) - 1) < max(min_bytes, NOISE_TIMES * noise) or agreement < AGREEMENT:
            return None
        last, _ = theil_sen(later[-max(4, len(later) // 4):])
        if last < GOING_ON * slope:
            return None
        return Trend(slope / self.stride, len(later) * self.stride)


def theil_sen(values: Sequence[float]) -> tuple[float, float]:
    """The median slope between all pairs, per position, and how far the pairs agree on a rise: 1 if all do, 0 or less if not.

    A fifth and more of the values can be anything without moving the slope much, unlike that of least squares (Theil 1950, Sen 1968).
    """
    slopes = [(values[j] - values[i]) / (j - i) for i in range(len(values)) for j in range(i + 1, len(values))]
    rising = sum(s > 0 for s in slopes)
    return median(slopes), (2 * rising - len(slopes)) / len(slopes)


def _about_zero(values: Sequence[float], slope: float) -> list[float]:
    """The values less the intercept of the line through them."""
    intercept = median(y - slope * x for x, y in enumerate(values))
    return [y - intercept for y in values]
