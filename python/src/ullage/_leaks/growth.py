"""A growth that was confirmed: how fast, who allocates it, who holds it."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from .. import _units
from .._measure.sites import Site

SHOWN = 3  # sites and holders in the text


@dataclass(frozen=True)
class Growth:
    """Memory that grows from step to step. Amounts are in bytes."""

    name: str  # of the place, as given to step()
    device: int
    slope_bytes: float  # a step
    steps: int  # over which it was seen
    at_step: int  # when it was reported
    allocated_bytes: int  # then
    room_bytes: Optional[int]  # what could still be allocated then; None where the device doesn't tell
    sites: tuple[Site, ...]  # who allocated what is new since it was suspected; empty without a recording
    holders: tuple[str, ...]  # who holds it, the most of it first

    @property
    def steps_left(self) -> Optional[int]:
        """In how many steps the device is full at this rate; None where that can't be told."""
        return None if self.room_bytes is None or self.slope_bytes <= 0 else int(self.room_bytes / self.slope_bytes)

    def as_dict(self) -> dict[str, Any]:
        """All of it as numbers, strings, lists and dicts, for JSON. Keys may be added."""
        return {
            "name": self.name, "device": self.device, "slope_bytes": self.slope_bytes, "steps": self.steps, "at_step": self.at_step,
            "allocated_bytes": self.allocated_bytes, "room_bytes": self.room_bytes, "steps_left": self.steps_left,
            "sites": [s.as_dict() for s in self.sites], "holders": list(self.holders),
        }

    def __str__(self) -> str:
        left = "" if self.steps_left is None else f"; it is full in about {_units.count(self.steps_left, 'step')}"
        lines = [
            f"the memory of cuda:{self.device} grows by {_units.size(self.slope_bytes)} per {self.name},"
            f" and has for {self.steps:,} of them: {_units.size(self.allocated_bytes)} are allocated{left}"
        ]
        for site in self.sites[:SHOWN]:
            via = f" ({site.call})" if site.call else ""
            lines.append(f"  allocated at {site.place}{via}: {_units.size(site.size_bytes)} in {_units.count(site.blocks, 'new block')}")
        lines += [f"  held by {holder}" for holder in self.holders[:SHOWN]]
        if not self.sites:
            lines.append("  hint: run it under `ullage run`, or record memory, to be told the line that allocates it")
        return "\n".join(lines)


class GrowthWarning(UserWarning):
    """Issued once for each place and device where memory grows. growth has the figures."""

    def __init__(self, growth: Growth) -> None:
        super().__init__(str(growth))
        self.growth = growth
