"""What is used of torch, found out rather than assumed: most of it is private and has changed between releases.

No function here initialises CUDA or makes a context. All are for a process in which the program has done so itself, and on
devices on which it holds memory.
"""
from __future__ import annotations

import inspect
import math
import sys
from typing import Any, Callable, Mapping, Optional

# Recording the stacks of frees too (context="all") makes the backward pass of a transformer under non-reentrant activation
# checkpointing end in a SystemError on torch 2.11 (5 of 5 runs on an H200; pytorch PR#175196). With "alloc" it ran, and a
# free then carries the stack of the block's allocation.
CONTEXT = "alloc"
# C++ frames make writing a recording take minutes.
STACKS = "python"


def history_arguments(function: Callable[..., Any], entries: int) -> Optional[dict[str, Any]]:
    """The keywords that make this release's _record_memory_history keep entries events, or None if it cannot bound them."""
    known = inspect.signature(function).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in known.values())
    if "trace_alloc_max_entries" in known:  # torch 2.0
        return {"enabled": True, "record_context": True, "trace_alloc_max_entries": entries, "trace_alloc_record_context": True}
    wanted = {"enabled": "all", "context": CONTEXT, "stacks": STACKS, "max_entries": entries}
    if open_ended:  # torch 2.1 passes its arguments on and shows none
        return wanted
    if "max_entries" not in known:
        return None
    return {k: v for k, v in wanted.items() if k in known}


def record(torch: Any, entries: int) -> Optional[str]:
    """Switches recording on. Returns why it could not, or None."""
    function = getattr(torch.cuda.memory, "_record_memory_history", None)
    if function is None:
        return "this torch cannot record its memory"
    arguments = history_arguments(function, entries)
    if arguments is None:
        return "this torch cannot bound its history, so none is recorded"
    function(**arguments)
    return None


def recording(torch: Any, initializing: bool = False) -> bool:
    """Whether memory is being recorded, by whomever. False before CUDA is used, since asking would begin to use it.

    Within the initialisation of CUDA, torch.cuda.is_initialized() is still False; say initializing there.
    """
    enabled = getattr(torch._C, "_cuda_isHistoryEnabled", None)
    if enabled is None or not (initializing or torch.cuda.is_initialized()):
        return False
    try:
        return bool(enabled())
    except RuntimeError:  # the back end cudaMallocAsync records nothing
        return False


def stop_recording(torch: Any) -> None:
    """Switches recording off, which forgets the events."""
    torch.cuda.memory._record_memory_history(enabled=None)


def on_first_use(torch: Any, then: Callable[[], None]) -> bool:
    """Calls then within the program's own initialisation of CUDA, once it has succeeded. False: this torch has no such hook."""
    lazy_call = getattr(torch.cuda, "_lazy_call", None)
    if lazy_call is None:
        return False
    lazy_call(then)
    return True


def on_out_of_memory(torch: Any, observer: Callable[[int, int, int, int], None]) -> bool:
    """Has observer called with (device, bytes asked of the driver, bytes in all, bytes free) when an allocation fails."""
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if attach is None:
        return False
    attach(observer)
    return True


def limit(torch: Any, device: int, limit_bytes: int) -> None:
    """Bounds what this process's allocator may reserve on a device. Where it is as large as the device, nothing is bounded."""
    with torch.cuda.device(device):
        torch.cuda.set_per_process_memory_fraction(fraction_of(limit_bytes, total_bytes(torch, device)), device)


def fraction_of(limit_bytes: int, total: int) -> float:
    """The fraction of which PyTorch's allocator makes a limit of just so many bytes, and never one more: it rounds down."""
    if limit_bytes >= total:
        return 1.0
    fraction = max(0, limit_bytes) / total
    above = math.nextafter(fraction, 1.0)
    return above if int(fraction * total) < limit_bytes and int(above * total) == limit_bytes else fraction


def total_bytes(torch: Any, device: int) -> int:
    """What a memory fraction is a fraction of: the device's memory, as CUDA's properties have it."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def tells_limit(torch: Any) -> bool:
    """Whether this torch (2.8 and newer) tells the memory fraction that is set."""
    return hasattr(torch.cuda.memory, "get_per_process_memory_fraction")


def limit_of(torch: Any, device: int) -> Optional[int]:
    """What this process's allocator may reserve on a device; None without a limit, or where this torch doesn't tell.

    Some releases ask the driver for the device's size, which makes a context.
    """
    if not tells_limit(torch):
        return None
    fraction = float(torch.cuda.memory.get_per_process_memory_fraction(device))
    return round(fraction * total_bytes(torch, device)) if 0 <= fraction < 1 else None


def has_context(torch: Any, device: int) -> bool:
    """Whether this process has a CUDA context on a device, or where this release does not tell, memory; asking makes none."""
    ask = getattr(torch._C, "_cuda_hasPrimaryContext", None)
    return bool(torch.cuda.memory_stats(device).get("reserved_bytes.all.peak", 0) if ask is None else ask(device))


def used_devices(torch: Any) -> dict[int, Mapping[str, int]]:
    """The devices on which this process's allocator holds or held memory, with its counters."""
    used: dict[int, Mapping[str, int]] = {}
    for device in range(torch.cuda.device_count()):
        stats = torch.cuda.memory_stats(device)
        if stats.get("reserved_bytes.all.peak", 0) or stats.get("num_ooms", 0):
            used[device] = stats
    return used


def describe(torch: Any, device: int, stats: Mapping[str, int], limit_bytes: Optional[int]) -> dict[str, Any]:
    """What is known of a device, as far as it can be asked: after an error of CUDA not everything answers."""
    row: dict[str, Any] = {"device": device, "name": None, "total_bytes": None, "free_bytes": None, "limit_bytes": limit_bytes}
    try:
        properties = torch.cuda.get_device_properties(device)
        row["name"], row["total_bytes"] = str(properties.name), int(properties.total_memory)
        if limit_bytes is None:
            row["limit_bytes"] = limit_of(torch, device)
        if stats.get("reserved_bytes.all.current", 0):  # there is a context, so asking makes none
            row["free_bytes"] = int(torch.cuda.mem_get_info(device)[0])
    except Exception:
        pass
    row["stats"] = {k: int(v) for k, v in stats.items() if isinstance(v, int)}
    return row


def distributed_rank() -> Optional[int]:
    """This process's rank in torch.distributed, or None before there is a process group."""
    dist = sys.modules.get("torch.distributed")
    try:
        if dist is not None and dist.is_available() and dist.is_initialized():
            return int(dist.get_rank())
    except Exception:
        pass
    return None
