"""What preflight() found: the memory of the run that is about to begin."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Optional

from .. import _units


@dataclass(frozen=True)
class Warned:
    """Something that will cost memory, or the run, later. rule is the page of docs/rules that has more."""

    rule: str
    text: str


@dataclass(frozen=True)
class Preflight:
    """The memory of a training, from real steps of it that were undone. Amounts are in bytes."""

    device: int
    device_name: str
    total_bytes: int  # of the device
    outside_bytes: int  # in use there, but not by this process's allocator: its CUDA context, libraries, other processes
    capacity_bytes: int  # what this process could have allocated: free, or its own already, and within its limit
    base_bytes: int  # allocated before the first step
    first_peak_bytes: int  # of the first step; as far as it came, if it ran out of memory
    later_peak_bytes: Optional[int]  # of the third step and those after; None if the first one ran out of memory
    later_reserved_bytes: Optional[int]  # what the allocator holds from the driver then; None where that was not measured
    measured: bool  # later_peak_bytes was measured in a second step, rather than computed
    states_bytes: int  # optimizer states, as they are after the first step or will be
    fits: bool
    batch_size: Optional[int]  # of the batch given
    largest_batch: Optional[int]  # that fits, by lines through the peaks of two sizes; None where there were no two
    tried_batch: Optional[int]  # the largest that a real step fitted with
    error: Optional[str]  # the message, if a step ran out of memory
    warnings: tuple[Warned, ...]
    notes: tuple[str, ...]  # what these figures can't show

    @property
    def free_bytes(self) -> Optional[int]:
        """What remains free at the peak of later steps, without fragmentation; less than 0 by what is lacking; None where not known."""
        return None if self.later_peak_bytes is None else self.capacity_bytes - self.later_peak_bytes

    def as_dict(self) -> dict[str, Any]:
        """All of it as numbers, strings, lists and dicts, for JSON. Keys may be added."""
        return {**asdict(self), "free_bytes": self.free_bytes, "warnings": [asdict(w) for w in self.warnings], "notes": list(self.notes)}

    def __str__(self) -> str:
        lines = [f"preflight on cuda:{self.device} ({self.device_name}, {_units.size(self.total_bytes)}): {self._verdict()}"]
        for amount, text in self._rows():
            lines.append(f"  {_units.size(amount):>11}  {text}")
        if self.largest_batch is not None:
            text = f"samples in the largest batch that fits, about; a step with {self.tried_batch:,} ran"
            lines.append(f"  {self.largest_batch:>11,}  {text}")
        lines += [f"  warning: {w.text} ({w.rule})" for w in self.warnings]
        lines += [f"  note: {n}" for n in self.notes]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.later_peak_bytes is None:
            return "the first step runs out of memory"
        return "it fits" if self.fits else "it will run out of memory once there are optimizer states"

    def _rows(self) -> list[tuple[int, str]]:
        rows = [(self.base_bytes, "allocated before the first step"), (self.first_peak_bytes, "peak of the first step")]
        if self.later_peak_bytes is None or self.free_bytes is None:
            return [*rows[:1], (self.first_peak_bytes, "allocated when it ran out"), (self.capacity_bytes, "is what this process can have")]
        how = "measured in a second step" if self.measured else "computed: the first step's, and the states of the optimizer"
        rows.append((self.later_peak_bytes, f"peak from the third step on, {how}"))
        rows.append((self.states_bytes, "of it optimizer states"))
        if self.later_reserved_bytes is not None:
            rows.append((self.later_reserved_bytes, "held from the driver then"))
        verb = "remain" if self.free_bytes >= 0 else "are lacking"
        rows.append((abs(self.free_bytes), f"{verb} of the {_units.size(self.capacity_bytes)} that this process can have"))
        return rows
