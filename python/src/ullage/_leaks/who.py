"""Who is behind memory: the places that allocated it, from a recording, and what holds it, from a search of the process."""
from __future__ import annotations

import gc
import inspect
from typing import Any, Callable, Collection, Iterable, Mapping, Optional, Sequence

from .. import _units
from .._holders import find, result, survey
from .._holders.tensors import Memory
from .._measure import sites

SEARCH_SECONDS = 10.0  # of a search for holders

Block = tuple[int, Optional[Sequence[Mapping[str, Any]]]]  # bytes, and the stack if memory was being recorded


def holds(addresses: Iterable[int]) -> dict[int, str]:
    """By what the storages at these addresses are held, in words; those that were not found are left out."""
    wanted = set(addresses)
    found: dict[int, str] = {}
    for holder in _search(lambda memory: memory.address in wanted):
        found.update((memory.address, result.describe(holder)) for memory in holder.storages)
    return found


def growing(new: Optional[Collection[int]], device: int) -> tuple[str, ...]:
    """By what new memory is held, in words: what is held at many places first. new has its addresses, None for all of the device's."""
    holders = list(_search(lambda memory: memory.device != "meta" and (new is None or memory.address in new)))
    holders.sort(key=lambda h: (h.places > 1 or len(h.storages) > 1, h.size_bytes), reverse=True)
    return tuple(f"{h}: {_units.size(h.size_bytes)} in {_units.count(len(h.storages), 'storage')}" for h in holders)


def _search(is_wanted: Callable[[Memory], bool]) -> result.Holders:
    import torch

    with survey.collector_still():
        search = survey.Survey(torch, is_wanted, survey.Limits(seconds=SEARCH_SECONDS), gc.get_objects())
        return find.collect(search, search.run(), elsewhere=False)


def live_blocks(torch: Any, device: int) -> Optional[dict[int, Block]]:
    """The blocks in use on a device, by address; None where the allocator doesn't tell (cudaMallocAsync)."""
    take = torch.cuda.memory_snapshot
    events_off = {"include_traces": False} if "include_traces" in inspect.signature(take).parameters else {}  # since 2.10
    try:
        segments = take(**events_off)
    except RuntimeError:
        return None
    return {
        int(block["address"]): (int(block["size"]), block.get("frames"))
        for segment in segments if segment["device"] == device
        for block in segment["blocks"] if block["state"] == "active_allocated"
    }


def sites_of(blocks: Mapping[int, Block]) -> tuple[sites.Site, ...]:
    """The places that allocated blocks, the largest first; empty if memory wasn't recorded."""
    if not any(frames for _, frames in blocks.values()):
        return ()
    return sites.group((frames, size) for size, frames in blocks.values())
