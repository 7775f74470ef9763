"""Which CUDA storages live, and what is known of each: told of births by the mode, and of deaths by weak references.

A storage's Python object lives as long as the storage (pytorch#103907), so a weak reference's callback runs when its last tensor,
view or saved value is gone, in the order in which a real run would free its memory.
"""
from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

from .trace import Trace


class Meter:
    """Running counts of one device, for what the program asks of torch.cuda.memory_*: bytes in blocks of 512, no cache simulated."""

    BLOCK, SEGMENT = 512, 2 << 20

    def __init__(self) -> None:
        self.allocated = self.peak = self.reserved = self.reserved_peak = self.requested = 0
        self.allocations = self.frees = 0

    def take(self, size_bytes: int) -> None:
        """Counts a storage."""
        self.requested += size_bytes
        self.allocations += 1
        self.allocated += -(-size_bytes // self.BLOCK) * self.BLOCK
        self.peak = max(self.peak, self.allocated)
        self.reserved = max(self.reserved, -(-self.allocated // self.SEGMENT) * self.SEGMENT)
        self.reserved_peak = max(self.reserved_peak, self.reserved)

    def give(self, size_bytes: int) -> None:
        """Counts a storage's end."""
        self.requested -= size_bytes
        self.frees += 1
        self.allocated -= -(-size_bytes // self.BLOCK) * self.BLOCK

    def empty_cache(self) -> None:
        """As if what is cached went back to the driver."""
        self.reserved = -(-self.allocated // self.SEGMENT) * self.SEGMENT

    def reset_peak(self) -> None:
        """As torch.cuda.reset_peak_memory_stats."""
        self.peak, self.reserved_peak = self.allocated, self.reserved


class Living:
    """A storage that lives."""

    __slots__ = ("id", "size_bytes", "device", "ref", "merged", "values")

    def __init__(self, number: int, size_bytes: int, device: int) -> None:
        self.id, self.size_bytes, self.device = number, size_bytes, device
        self.ref: Any = None
        self.merged = False  # its memory is given back, or has gone over to another storage
        self.values: Any = None  # a real tensor with what it holds, where that is known


class Storages:
    """The storages of all devices."""

    def __init__(self, trace: Trace, devices: int) -> None:
        self.trace = trace
        self.meters = [Meter() for _ in range(devices)]
        self.live: dict[int, Living] = {}  # by the storage's address in C++
        self.count = 0
        self.before_first: Callable[[], None] = lambda: None

    def find(self, storage: Any) -> Optional[Living]:
        """What is known of a storage, or None if it was not seen before."""
        return self.live.get(storage._cdata)

    def born(self, storage: Any, device: int, number: Optional[int] = None) -> Optional[Living]:
        """Begins to follow a storage; number is that of a storage whose memory it takes over. None for one without memory."""
        size = storage.nbytes()
        if size <= 0:
            return None
        if number is None:
            if self.count == 0:
                self.before_first()
            number = self.count
            self.count += 1
            self.meters[device].take(size)
        living = Living(number, size, device)
        key = storage._cdata
        living.ref = weakref.ref(storage, self._on_death(key, living))
        self.live[key] = living
        return living

    def _on_death(self, key: int, living: Living) -> Callable[[Any], None]:
        def gone(_: Any) -> None:
            if self.live.get(key) is living:
                del self.live[key]
            self.dead(living)

        return gone

    def dead(self, living: Living) -> None:
        """A storage's memory is given back."""
        if living.merged:
            return
        living.merged = True
        self.meters[living.device].give(living.size_bytes)
        self.trace.add(f'{{"e":"free","id":{living.id}}}')

    def take_over(self, old: Living, storage: Any) -> None:
        """The memory of old is now that of storage, and lives as long."""
        old.merged = True
        new = self.born(storage, old.device, old.id)
        if new is None:
            self.meters[old.device].give(old.size_bytes)
            self.trace.add(f'{{"e":"free","id":{old.id}}}')

    def forget(self, storage: Any) -> None:
        """A storage's memory is gone though the storage lives: it was resized."""
        living = self.live.pop(storage._cdata, None)
        if living is not None:
            self.dead(living)
