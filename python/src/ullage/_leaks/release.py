"""release(): letting go of models, optimizers and tensors, with the proof."""
from __future__ import annotations

import gc
from types import TracebackType
from typing import Any, Optional

from .. import _checks as checks
from .. import _units
from .._torch import api, memory
from . import drop, reach, who

SHOWN = 10  # storages that are still there, in the text


def release(*objects: Any, flush: bool = True) -> "Release":
    """Makes objects let go of the memory that they hold, and checks that it is free.

        print(ullage.release(model, optimizer, batches))

    Modules, optimizers, containers and plain objects are emptied and can't be used any more. Nothing else is touched: a parameter that
    something else refers to stays whole, and the result says what that is. Then come a garbage collection, the frames of the last
    error, and the flush of the allocator's cache, each only if something is left to do for it.

    Python deletes names, not objects, and a function can't delete its caller's. A tensor, whose memory goes only with the last name of it,
    has to be let go of by the caller, within the block:

        with ullage.release(model, logits) as released:
            del model, logits
        print(released)

    flush  give the cache back to the driver, for other processes and for allocations of other sizes

    Raises TypeError for what holds no tensors by its nature: a name as a string, a function, a class.
    """
    return Release(objects, flush)


class Release:
    """What became of the memory of released objects. Refers to them weakly. Amounts are in bytes.

    held     the storages that the objects held, on any device
    alive    those of them that were still there at the last check
    notes    what was done to free them, beyond letting go
    """

    def __init__(self, objects: tuple[Any, ...], flush: bool) -> None:
        for obj in objects:
            drop.require(obj)
        self._flush = checks.flag("flush", flush)
        import torch

        self._torch = torch
        self.notes: list[str] = []
        self._before = _counters(torch)
        self.held = _let_go(objects)
        self.alive: tuple[reach.Held, ...] = ()
        self._holders: Optional[dict[int, str]] = None
        self.check()

    def check(self) -> "Release":
        """Looks again what is still there, collecting garbage and flushing the cache first if need be."""
        self._holders = None
        self._look()
        if self.alive:
            self._collect()
        if self.alive:
            self._clear_errors()
        self._give_back()
        return self

    def _look(self) -> None:
        self.alive = tuple(h for h in self.held if h.alive())

    def _collect(self) -> None:
        before = self.alive_bytes
        gc.collect()
        self._look()
        if before > self.alive_bytes:
            gone = _units.size(before - self.alive_bytes)
            self.notes.append(f"{gone} went with the garbage collection: they were held by a cycle of references")

    def _clear_errors(self) -> None:
        before = self.alive_bytes
        for error in drop.errors_at_hand():
            drop.clear_frames(error)
        gc.collect()
        self._look()
        if before > self.alive_bytes:
            gone = _units.size(before - self.alive_bytes)
            self.notes.append(f"{gone} went with the frames of the last error, which were cleared")

    def _give_back(self) -> None:
        """Waits for blocks that another stream was still using, which are no one's and yet not free, and flushes the cache."""
        if not memory.in_use():
            return
        for device, stats in api.used_devices(self._torch).items():
            if stats.get("active_bytes.all.current", 0) > stats.get("allocated_bytes.all.current", 0):
                memory.synchronize(device)
        if self._flush:
            memory.flush()

    @property
    def held_bytes(self) -> int:
        """What the objects held, on all devices."""
        return reach.total_bytes(self.held)

    @property
    def alive_bytes(self) -> int:
        """What of it was still there at the last check."""
        return reach.total_bytes(self.alive)

    @property
    def freed_bytes(self) -> int:
        """What of it is gone."""
        return self.held_bytes - self.alive_bytes

    @property
    def given_back_bytes(self) -> int:
        """By how much less the allocator holds from the driver, on all CUDA devices; what others allocate meanwhile counts against it."""
        return sum(self._before.values()) - sum(_counters(self._torch).values())

    @property
    def complete(self) -> bool:
        """Whether all of it is gone."""
        return not self.alive

    def holders(self) -> dict[int, str]:
        """By what each storage that is still there is held, in words, by its address. Those that were not found are missing.

        Looks at all objects of the process at the first call after a check, which takes up to seconds in a large one.
        """
        if self._holders is None:
            addresses = [h.address for h in self.alive if h.alive()]  # that of one that went since may be another's by now
            self._holders = who.holds(addresses) if addresses else {}
        return self._holders

    def as_dict(self) -> dict[str, Any]:
        """All of it as numbers, strings, lists and dicts, for JSON. Keys may be added; addresses are strings."""
        alive = [
            {"name": h.name, "device": h.device, "address": hex(h.address), "bytes": h.size_bytes, "held_by": self.holders().get(h.address)}
            for h in self.alive
        ]
        return {
            "held_bytes": self.held_bytes, "freed_bytes": self.freed_bytes, "alive_bytes": self.alive_bytes,
            "given_back_bytes": self.given_back_bytes, "notes": list(self.notes), "alive": alive,
        }

    def __enter__(self) -> "Release":
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.check()

    def __str__(self) -> str:
        size = _units.size
        lines = [f"freed {size(self.freed_bytes)} of {size(self.held_bytes)} in {_units.count(len(self.held), 'storage')}"]
        if self.given_back_bytes > 0:
            lines[0] += f"; {size(self.given_back_bytes)} went back to the driver"
        lines += [f"  note: {n}" for n in self.notes]
        if self.alive:
            lines.append(f"  {size(self.alive_bytes)} are still held:")
            lines += self._rows()
        return "\n".join(lines)

    def _rows(self) -> list[str]:
        largest = sorted(self.alive, key=lambda h: -h.size_bytes)
        rows = []
        for held in largest[:SHOWN]:
            by = self.holders().get(held.address, "what the search did not find") if held.alive() else "nothing any more: it went since"
            rows.append(f"    {_units.size(held.size_bytes):>11}  {held.name}, by {by}")
        if len(largest) > SHOWN:
            rest = largest[SHOWN:]
            rows.append(f"    {_units.size(reach.total_bytes(rest)):>11}  in {_units.count(len(rest), 'other storage')}")
        return rows


def _let_go(objects: tuple[Any, ...]) -> tuple[reach.Held, ...]:
    """Makes objects let go, and returns what they held."""
    found: dict[int, reach.Held] = {}
    for obj in objects:
        found.update((key, held) for key, held in reach.storages(obj).items() if key not in found)
    for obj in objects:
        drop.drop(obj)
    return tuple(found.values())


def _counters(torch: Any) -> dict[int, int]:
    """What the allocator holds from the driver, by device."""
    used = api.used_devices(torch) if memory.in_use() else {}
    return {device: stats.get("reserved_bytes.all.current", 0) for device, stats in used.items()}
