"""The holders of a process's GPU memory, as they stand in the file beside a recording.

It is taken where a program has just run out of memory, within the allocator's own call: nothing is allocated on a GPU, nothing is
imported, nothing of the program is called, and the time and the number of what is listed are bounded.
"""
from __future__ import annotations

import gc
from typing import Any, Callable

from . import find
from .result import Holder
from .survey import Held, Limits, Survey, collector_still
from .tensors import Memory

LIMITS = Limits(seconds=5.0, objects=5_000_000)
MAX_HOLDERS = 2_000
MAX_STORAGES = 20_000  # whose addresses are listed; the largest


def _on_gpu(memory: Memory) -> bool:
    return memory.device.startswith("cuda")


def take(torch: Any, limits: Limits = LIMITS, wanted: Callable[[Memory], bool] = _on_gpu) -> dict[str, Any]:
    """Who holds the storages that are wanted. Never raises: what went wrong is in "problem"."""
    try:
        with collector_still():
            survey = Survey(torch, wanted, limits, gc.get_objects())
            found = survey.run()
        return _written(survey, found)
    except Exception as e:
        return {"complete": False, "problem": f"{type(e).__name__}: {e}"[:500], "list": []}


def _written(survey: Survey, found: list[Held]) -> dict[str, Any]:
    listed = {id(held) for held in sorted(found, key=lambda held: -held.memory.size_bytes)[:MAX_STORAGES]}
    devices = sorted({held.memory.device for held in found})
    rows = []
    for device in devices:
        here = [held for held in found if held.memory.device == device]
        with_address = {held.memory for held in here if id(held) in listed}
        rows += [_row(device, holder, with_address) for holder in find.group(here)]
    rows.sort(key=lambda row: -int(row["size_bytes"]))
    return {
        "complete": survey.complete,
        "seconds": round(survey.clock.elapsed(), 3),
        "objects": survey.clock.objects,
        "notes": find.notes(survey),
        "list": rows[:MAX_HOLDERS],
        "unlisted_bytes": sum(int(row["size_bytes"]) for row in rows[MAX_HOLDERS:]),
    }


def _row(device: str, holder: Holder, with_address: set[Memory]) -> dict[str, Any]:
    storages = [memory for memory in holder.storages if memory in with_address]
    return {
        "device": int(device.partition(":")[2] or 0),
        "path": holder.path,
        "where": holder.where,
        "kind": holder.kind,
        "places": holder.places,
        "saved_by": dict(holder.saved_by),
        "storages": len(holder.storages),
        "size_bytes": holder.size_bytes,
        "addresses": [f"{memory.address:#x}" for memory in storages],
    }
