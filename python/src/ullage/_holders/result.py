"""What a search for holders found."""
from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Iterator, Mapping, Optional

from .. import _units
from .tensors import Memory

MAX_LINES = 40  # of a printed result
KINDS = {
    "python": "Python",
    "grad": "gradients",
    "optimizer": "optimizer state",
    "graph": "graphs of autograd",
    "cycle": "garbage that waits for Python's collector",
    "native": "C++, by no name",
    "unknown": "not found out",
}


@dataclass(frozen=True)
class Holder:
    """Storages that are held in the same way: at one place, or at places of one container."""

    path: str  # "trainer.loss_history[…]" for several places, "trainer.loss_history[12]" for one
    where: str  # of the path's first name, as "local 't' of main() at train.py:88"; "" for a global
    kind: str  # a key of KINDS
    places: int  # how many
    storages: tuple[Memory, ...]  # the largest first
    saved_by: Mapping[str, int]  # bytes by node of autograd, where a graph holds them

    @property
    def size_bytes(self) -> int:
        """The size of all storages together."""
        return sum(s.size_bytes for s in self.storages)

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {**asdict(self), "storages": [memory._asdict() for memory in self.storages], "size_bytes": self.size_bytes}

    def __str__(self) -> str:
        return describe(self)


def describe(holder: Holder) -> str:
    """One line, without the size: "graph of preds[…] × 24 (local 'preds' of main() at eval.py:7; saved by ReluBackward0)"."""
    name = holder.where.partition("'")[2].partition("'")[0]
    alone = bool(holder.where) and name == holder.path
    about = [] if alone or not holder.where else [holder.where]
    if holder.saved_by:
        largest = sorted(holder.saved_by, key=lambda n: -holder.saved_by[n])
        about.append("saved by " + ", ".join(largest[:3]) + (f" and {len(largest) - 3} more" if len(largest) > 3 else ""))
    text = holder.where if alone else holder.path
    text += f" × {holder.places:,}" if holder.places > 1 else ""
    return text + (f" ({'; '.join(about)})" if about else "")


@dataclass(frozen=True)
class Holders:
    """The holders found, the largest first, and how far the search went."""

    holders: tuple[Holder, ...]
    notes: tuple[str, ...]  # what the search could not see, in words
    complete: bool  # False if a limit of time or count ended it
    objects: int  # looked at
    seconds: float

    @property
    def size_bytes(self) -> int:
        """The size of all storages, each counted once."""
        return sum(memory.size_bytes for memory in {m for h in self.holders for m in h.storages})

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {**asdict(self), "holders": [h.as_dict() for h in self.holders], "size_bytes": self.size_bytes}

    def __iter__(self) -> Iterator[Holder]:
        return iter(self.holders)

    def __len__(self) -> int:
        return len(self.holders)

    def __getitem__(self, index: int) -> Holder:
        return self.holders[index]

    def __str__(self) -> str:
        count = len({m for h in self.holders for m in h.storages})
        if self.holders and not count:
            lines = ["what refers to the object, which has no memory of its own:"]
        else:
            lines = [f"{_units.size(self.size_bytes)} in {_units.count(count, 'storage')}, by what holds them:"]
        lines += [_row(h.size_bytes if count else None, str(h)) for h in self.holders[:MAX_LINES]]
        rest = self.holders[MAX_LINES:]
        if rest:
            lines.append(_row(sum(h.size_bytes for h in rest) if count else None, f"{len(rest):,} more"))
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])


def _row(size_bytes: Optional[int], what: str) -> str:
    return f"{'' if size_bytes is None else _units.size(size_bytes):>11}  {what}"
