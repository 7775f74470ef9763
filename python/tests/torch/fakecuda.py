"""A CUDA device made of main memory: CPU tensors counted as the caching allocator would count them.

    with FakeCuda(total_bytes=1 << 30) as gpu:
        model = torch.nn.Linear(1024, 1024)      # on the CPU, and counted
        gpu.allocated_bytes

Every storage that an operator makes inside the block counts, rounded up to 512 bytes, until it dies; when the sum would pass
the capacity, the operator raises the OutOfMemoryError that torch would raise. The cache is kept whole and never fragments:
reserved is the highest sum since the last empty_cache(). torch.cuda's functions answer from that.
"""
from __future__ import annotations

import contextlib
import types
from typing import Any
from unittest import mock

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from ullage._torch import memory

ROUND_BYTES = 512
OutOfMemoryError = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)


class _Count(TorchDispatchMode):
    def __init__(self, gpu: "FakeCuda") -> None:
        super().__init__()
        self.gpu = gpu

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_flatten(result)[0]:
            if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
                self.gpu.count(leaf.untyped_storage())
        return result


class FakeCuda:
    """See the module. Failing calls are counted in failures; flushes in flushes; synchronisations in synchronized."""

    def __init__(self, total_bytes: int = 1 << 30, devices: int = 1) -> None:
        self.total_bytes, self.devices = total_bytes, devices
        self._reserved_bytes = self.peak_allocated_bytes = self.peak_reserved_bytes = 0
        self.outside_bytes = 0  # what other processes hold
        self.fraction = 1.0
        self.failures = self.flushes = self.synchronized = 0
        self.allocations = self.allocations_bytes = 0  # all that there ever were
        self._live: dict[int, tuple[StorageWeakRef, int]] = {}  # by the address of torch's own object, which a weak reference keeps
        self._stack = contextlib.ExitStack()

    # --- the allocator

    def limit_bytes(self) -> int:
        return min(self.total_bytes - self.outside_bytes, int(self.total_bytes * self.fraction))

    @property
    def allocated_bytes(self) -> int:
        for key in [k for k, (ref, _) in self._live.items() if ref.expired()]:
            del self._live[key]
        return sum(size for _, size in self._live.values())

    @property
    def reserved_bytes(self) -> int:
        self._reserved_bytes = max(self._reserved_bytes, self.allocated_bytes)
        return self._reserved_bytes

    def count(self, storage: Any) -> None:
        held, key, size = self.allocated_bytes, storage._cdata, -(-storage.nbytes() // ROUND_BYTES) * ROUND_BYTES
        if key in self._live or size == 0:
            return
        if held + size > self.limit_bytes():
            self._fail(size)
        self._live[key] = (StorageWeakRef(storage), size)
        self.allocations, self.allocations_bytes = self.allocations + 1, self.allocations_bytes + size
        self.peak_allocated_bytes = max(self.peak_allocated_bytes, held + size)
        self.peak_reserved_bytes = max(self.peak_reserved_bytes, self.reserved_bytes)

    def _fail(self, size: int) -> None:
        self.failures += 1
        free = self.total_bytes - self.outside_bytes - self.reserved_bytes
        raise OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size / 2**20:.2f} MiB. GPU 0 has a total capacity of {self.total_bytes / 2**30:.2f} GiB"
            f" of which {max(0, free) / 2**20:.2f} MiB is free.")

    # --- what torch.cuda answers

    def stats(self, device: Any = None) -> dict[str, int]:
        if device not in (None, 0):
            return {}
        return {
            "allocated_bytes.all.current": self.allocated_bytes, "allocated_bytes.all.peak": self.peak_allocated_bytes,
            "active_bytes.all.current": self.allocated_bytes, "active_bytes.all.peak": self.peak_allocated_bytes,
            "requested_bytes.all.current": self.allocated_bytes, "requested_bytes.all.peak": self.peak_allocated_bytes,
            "reserved_bytes.all.current": self.reserved_bytes, "reserved_bytes.all.peak": self.peak_reserved_bytes,
            "allocated_bytes.all.allocated": self.allocations_bytes, "allocated_bytes.all.freed": self.allocations_bytes - self.allocated_bytes,
            "allocation.all.allocated": self.allocations, "allocation.all.freed": self.allocations - len(self._live),
            "inactive_split_bytes.all.current": 0, "num_alloc_retries": 0, "num_ooms": self.failures,
        }

    def empty_cache(self) -> None:
        self.flushes += 1
        self._reserved_bytes = self.allocated_bytes

    def reset_peaks(self, device: Any = None) -> None:
        self.peak_allocated_bytes, self.peak_reserved_bytes = self.allocated_bytes, self.reserved_bytes

    def synchronize(self, device: Any = None) -> None:
        self.synchronized += 1

    def _set_fraction(self, fraction: float, device: Any = None) -> None:
        self.fraction = fraction

    def _answers(self) -> dict[str, Any]:
        return {
            "is_available": lambda: True, "is_initialized": lambda: True, "device_count": lambda: self.devices, "current_device": lambda: 0,
            "is_current_stream_capturing": lambda: False,
            "init": lambda: None, "memory_stats": self.stats, "empty_cache": self.empty_cache, "synchronize": self.synchronize,
            "reset_peak_memory_stats": self.reset_peaks, "set_per_process_memory_fraction": self._set_fraction,
            "get_per_process_memory_fraction": lambda device=None: self.fraction,
            "memory_allocated": lambda device=None: self.allocated_bytes, "max_memory_allocated": lambda device=None: self.peak_allocated_bytes,
            "memory_reserved": lambda device=None: self.reserved_bytes, "max_memory_reserved": lambda device=None: self.peak_reserved_bytes,
            "mem_get_info": lambda device=None: (self.total_bytes - self.outside_bytes - self.reserved_bytes, self.total_bytes),
            "get_device_properties": lambda device=None: types.SimpleNamespace(name="Fake GPU", total_memory=self.total_bytes, major=9, minor=0),
            "get_rng_state": lambda device=None: torch.get_rng_state(), "set_rng_state": lambda state, device=None: None,
            "get_rng_state_all": lambda: [], "set_rng_state_all": lambda states: None,
        }

    def __enter__(self) -> "FakeCuda":
        for name, answer in self._answers().items():
            self._stack.enter_context(mock.patch.object(torch.cuda, name, answer, create=True))
        if hasattr(torch, "accelerator"):  # what optimizers of newer releases ask
            stream = types.SimpleNamespace(is_capturing=lambda: False)
            self._stack.enter_context(mock.patch.object(torch.accelerator, "current_stream", lambda device=None: stream, create=True))
        self._stack.enter_context(mock.patch.object(memory, "lies_on", lambda device, index: device.type == "cpu"))
        self._stack.enter_context(_Count(self))
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stack.close()
