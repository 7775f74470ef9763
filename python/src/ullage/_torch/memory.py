"""What is asked of a device's caching allocator, and what it answers. Amounts are in bytes.

Every part of the package that measures or reacts goes through these functions, so that they are the one place that knows the
names of PyTorch's counters, and the one that tests replace by a device made of main memory.
"""
from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Union

Device = Union[None, int, str, Any]  # whatever torch takes for a device; None is the current one


@dataclass(frozen=True)
class Reading:
    """The allocator's counters of one device at one moment."""

    allocated_bytes: int  # in blocks that the program holds
    reserved_bytes: int  # taken from the driver: allocated and cached
    requested_bytes: int  # allocated, before rounding; 0 before torch 2.1
    inactive_split_bytes: int  # free pieces of segments in use: they can't be given back
    peak_allocated_bytes: int  # since the peaks were last reset
    peak_reserved_bytes: int
    retries: int  # allocations that had to flush the cache first
    failures: int  # allocations that failed even so


def index_of(device: Device = None) -> int:
    """The index of a CUDA device, given in any of torch's ways.

    Raises ValueError for a device that is none of CUDA's, whose allocator this package knows nothing of.
    """
    import torch

    if device is None:
        return int(torch.cuda.current_device())
    if isinstance(device, int):
        return device
    named = torch.device(device)
    if named.type != "cuda":
        raise ValueError(f"device {str(device)!r} is not one of CUDA's: only their allocator can be asked")
    return int(torch.cuda.current_device() if named.index is None else named.index)


def lies_on(device: Any, index: int) -> bool:
    """Whether the torch.device of a tensor is the CUDA device of this index."""
    return bool(device.type == "cuda" and device.index == index)


def in_use() -> bool:
    """Whether this process has used CUDA: asking for memory before would begin to."""
    import torch

    cuda: Any = torch.cuda
    return bool(cuda.is_initialized())


def read(device: Device = None) -> Reading:
    """The counters now. Waits for nothing: memory counts as soon as it is asked for."""
    import torch

    return reading_of(torch.cuda.memory_stats(index_of(device)))


def allocated_bytes(index: int) -> int:
    """What is allocated on the device of this index: one counter, for those who ask often."""
    import torch

    return int(torch.cuda.memory_allocated(index))


def reading_of(stats: Mapping[str, Any]) -> Reading:
    """The counters in what torch.cuda.memory_stats() returns."""

    def of(key: str) -> int:
        return int(stats.get(key, 0))

    return Reading(
        allocated_bytes=of("allocated_bytes.all.current"),
        reserved_bytes=of("reserved_bytes.all.current"),
        requested_bytes=of("requested_bytes.all.current"),
        inactive_split_bytes=of("inactive_split_bytes.all.current"),
        peak_allocated_bytes=of("allocated_bytes.all.peak"),
        peak_reserved_bytes=of("reserved_bytes.all.peak"),
        retries=of("num_alloc_retries"),
        failures=of("num_ooms"),
    )


_before_reset: list[Callable[[int, Reading], None]] = []


def on_reset(call: Callable[[int, Reading], None]) -> Callable[[], None]:
    """Has call(device, reading) run before the package resets a device's peaks, so that whoever follows them loses none.

    Returns what ends that.
    """
    _before_reset.append(call)
    return lambda: _before_reset.remove(call)


def reset_peaks(device: Device = None) -> None:
    """Sets the peaks to what is in use now, once those who follow them have seen them."""
    import torch

    index = index_of(device)
    if _before_reset:
        reading = read(index)
        for call in list(_before_reset):
            call(index, reading)
    torch.cuda.reset_peak_memory_stats(index)


def total_bytes(device: Device = None) -> int:
    """What the device has in all, for everyone."""
    import torch

    return int(torch.cuda.get_device_properties(index_of(device)).total_memory)


def limit_bytes(device: Device = None) -> Optional[int]:
    """What this process's allocator may reserve, or None without a limit or where this torch (before 2.8) doesn't tell."""
    import torch

    getter = getattr(torch.cuda, "get_per_process_memory_fraction", None)
    if getter is None:
        return None
    fraction = float(getter(index_of(device)))
    return int(fraction * total_bytes(device)) if 0 < fraction < 1 else None


def room_bytes(device: Device = None, limit: Optional[int] = None) -> int:
    """What this process could still allocate if nothing were fragmented: free memory of the device and its own cache.

    Bounded by the limit given, and by the one that is set. Other processes can take from it at any time.
    """
    import torch

    index, now = index_of(device), read(device)
    free = int(torch.cuda.mem_get_info(index)[0])
    for bound in (limit, limit_bytes(index)):
        if bound is not None:
            free = min(free, max(0, bound - now.reserved_bytes))
    return free + now.reserved_bytes - now.allocated_bytes


def outside_bytes(device: Device = None) -> int:
    """What is in use on the device and not of this process's allocator: its CUDA context, libraries, other processes."""
    import torch

    index = index_of(device)
    free, total = torch.cuda.mem_get_info(index)
    return max(0, int(total) - int(free) - read(index).reserved_bytes)


def synchronize(device: Device = None) -> None:
    """Waits until the device has done all that was asked of it."""
    import torch

    torch.cuda.synchronize(index_of(device))


def flush() -> None:
    """Gives the allocator's cached segments back to the driver. Frees nothing that is referred to."""
    import torch

    torch.cuda.empty_cache()


def collect() -> None:
    """Frees objects that only refer to one another, and with them their tensors; then gives the cache back."""
    gc.collect()
    flush()
