"""The events of a block of code, replayed.

A recording has no mark where the block began. The allocator counts its allocations and frees, though, and so the block's events
are as many at the end of the trace as the counters have moved: exact, without a clock, and with whoever recorded.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

from . import sites

Event = Mapping[str, Any]
Stack = Optional[Sequence[Mapping[str, Any]]]
_GRAIN_BYTES = 512  # the allocator rounds up to multiples of it, at the least


@dataclass(frozen=True)
class Told:
    """What the recording says of a block on one device."""

    kept: tuple[sites.Site, ...]  # what the block allocated and had not freed at its end, in bytes of blocks
    at_peak: tuple[sites.Site, ...]  # what it allocated and had live at its highest point, in bytes rounded up to 512
    before_at_peak_bytes: int  # of what was there before the block, still live at that point
    missing: int  # of the block's allocations, those that the recording no longer has


def tail(trace: Sequence[Event], allocations: int, frees: int) -> tuple[Sequence[Event], int]:
    """The end of a trace with so many allocations and frees, and the number of allocations that it lacks."""
    start, allocated, freed = len(trace), 0, 0
    while start > 0:
        action = trace[start - 1]["action"]
        if action == "alloc":
            if allocated == allocations:
                break
            allocated += 1
        elif action == "free_requested":
            if freed == frees:
                break
            freed += 1
        elif allocated == allocations and freed == frees:
            break
        start -= 1
    return trace[start:], allocations - allocated


def replay(events: Sequence[Event], before_bytes: int, blocks: Mapping[int, int], missing: int) -> Told:
    """What is kept and what was live at the peak. before_bytes were allocated when the events begin; blocks has the sizes of
    the blocks at the end, by address."""
    live: dict[int, tuple[Stack, int]] = {}
    level = peak = before_bytes
    peak_index = 0
    for index, event in enumerate(events):
        level += _apply(live, event)
        if level > peak:
            peak, peak_index = level, index + 1
    at_peak, level = _live_after(events[:peak_index], before_bytes)
    own = sum(size for _, size in at_peak.values())
    kept = ((stack, blocks.get(address, size)) for address, (stack, size) in live.items())
    return Told(sites.group(kept), sites.group(at_peak.values()), max(0, level - own), missing)


def _live_after(events: Sequence[Event], before_bytes: int) -> tuple[dict[int, tuple[Stack, int]], int]:
    live: dict[int, tuple[Stack, int]] = {}
    level = before_bytes
    for event in events:
        level += _apply(live, event)
    return live, level


def _apply(live: dict[int, tuple[Stack, int]], event: Event) -> int:
    """Adds an event to what is live; returns by how much the allocated memory changes."""
    action = event["action"]
    if action == "alloc":
        size = -(-int(event["size"]) // _GRAIN_BYTES) * _GRAIN_BYTES
        live[event["addr"]] = (event.get("frames"), size)
        return size
    if action == "free_requested":
        size = -(-int(event["size"]) // _GRAIN_BYTES) * _GRAIN_BYTES
        live.pop(event["addr"], None)
        return -size
    return 0


def block_sizes(segments: Sequence[Mapping[str, Any]], device: int) -> dict[int, int]:
    """The blocks in use on a device: their sizes by address, both in bytes."""
    found: dict[int, int] = {}
    for segment in segments:
        if segment.get("device", 0) != device:
            continue
        address = int(segment["address"])
        for block in segment["blocks"]:
            if str(block["state"]).startswith("active"):
                found[int(block.get("address", address))] = int(block["size"])
            address += int(block["size"])
    return found
