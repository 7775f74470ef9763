"""What an attempt that failed leaves behind for whoever asks later."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Hashable, Optional

from .. import _checks as checks
from .. import _units


MOST_PARTS = 6  # of a size, that are written out


def words(size: Any) -> str:
    """A size in a line of text. What is no number, text or few of them is told by its kind: to print a tensor takes memory of the device."""
    if isinstance(size, (tuple, list)) and len(size) <= MOST_PARTS:
        inner = ", ".join(map(words, size))
        return f"[{inner}]" if isinstance(size, list) else f"({inner})"
    return checks.shown(size)


@dataclass
class Failure:
    """One attempt that ran out of memory, on this rank or on another."""

    size: Any  # the size that it ran with; None where there was none
    message: Optional[str]  # the first line of the error; None on a rank whose own attempt succeeded
    allocated_bytes: Optional[int] = None  # on the current device when it failed; None without CUDA
    freed_bytes: Optional[int] = None  # of these, what was free before the next attempt
    cache_bytes: Optional[int] = None  # given back to the driver before the next attempt, in all
    held: tuple[str, ...] = ()  # local names of the function around the attempt that are bound to tensors with a graph


@dataclass
class Report:
    """A run of attempts: what failed, and how it ended."""

    key: Hashable  # whose size was remembered: "train", "eval", or the caller's
    failures: list[Failure] = field(default_factory=list)
    size: Any = None  # of the last attempt
    succeeded: bool = False
    reason: Optional[str] = None  # why there was no further attempt, where it didn't succeed

    def text(self) -> str:
        """What was tried, in one line."""
        tried = ", ".join("the same again" if f.size is None else words(f.size) for f in self.failures)
        freed = sum(f.freed_bytes or 0 for f in self.failures)
        parts = [f"ran out of memory {_units.count(len(self.failures), 'time')} ({self.key}; tried: {tried})"]
        if freed:
            parts.append(f"{_units.size(freed)} were freed between attempts")
        if self.reason:
            parts.append(self.reason)
        return "; ".join(parts)
