"""PyTorch's private pools in main memory: torch.cuda.MemPool, and allocations that go to the pool of their thread.

    with FakePools(device_bytes=1 << 30) as device:
        pool = ullage.Pool(limit=100 << 20)
        with pool:
            x = torch.empty(1 << 20, device="cuda")     # on the CPU, in a block of the pool

Tensors that torch.empty() makes "on cuda" count: in the pool that the thread is in, else outside. A pool asks for segments of the
sizes of the real one, through the address that it was given for that. Blocks of a segment are added up and never fragment.
"""
from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from typing import Any, Iterator, Optional
from unittest import mock

import torch
from fakecuda import OutOfMemoryError
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

MIB = 1 << 20
_TAKE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)


def _amount(size: int) -> str:
    return f"{size / MIB:.2f} MiB" if size <= 1 << 30 else f"{size / (1 << 30):.2f} GiB"


class Segment:
    def __init__(self, size: int) -> None:
        self.size, self.blocks = size, []  # of (storage, bytes)

    def allocated(self) -> int:
        self.blocks = [(ref, size) for ref, size in self.blocks if not ref.expired()]
        return sum(size for _, size in self.blocks)

    def as_dict(self) -> dict[str, Any]:
        used = self.allocated()
        blocks = [{"state": "active_allocated", "size": size} for _, size in self.blocks]
        return {"total_size": self.size, "allocated_size": used, "blocks": blocks}


class FakePools:
    """See the module. runtime_calls counts the segments that the driver was asked for."""

    def __init__(self, device_bytes: int = 1 << 30) -> None:
        self.device_bytes, self.used_bytes, self.runtime_calls = device_bytes, 0, 0
        self.aborts = 0  # pools given up while a thread was in one: PyTorch ends the process then
        self.set_options: list[str] = []
        self.options = ""
        self.ignores_allocators = False
        self.workspaces: list[torch.Tensor] = []  # that a library keeps
        self._active: dict[int, list[Any]] = {}  # by thread
        self._stack = contextlib.ExitStack()
        self._ids = iter(range(1000, 1 << 30))  # above the numbers of which Python has one object each
        self._pools: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()

    # --- the driver

    def malloc(self, size: int) -> int:
        self.runtime_calls += 1
        if self.used_bytes + size > self.device_bytes:
            return 0
        self.used_bytes += size
        return 0x7F0000000000 + self.runtime_calls * MIB

    free_address = 1

    # --- the allocator

    def allocate(self, tensor: torch.Tensor) -> None:
        active = self._active.get(threading.get_ident())
        size = -(-tensor.untyped_storage().nbytes() // 512) * 512
        if active and size:
            segment = active[-1].find(size)
            segment.blocks.append((StorageWeakRef(tensor.untyped_storage()), size))

    def new_segment(self, allocator: Any, request: int) -> Segment:
        size = 2 * MIB if request <= MIB else 20 * MIB if request < 10 * MIB else -(-request // (2 * MIB)) * 2 * MIB
        take = _TAKE(allocator[0]) if not self.ignores_allocators else (lambda n, device, stream: self.malloc(n))
        if not take(size, 0, None) and not take(size, 0, None):  # tries again, as after a flush
            raise OutOfMemoryError(f"CUDA out of memory. Tried to allocate {_amount(size)}. GPU 0 has a total capacity of 1.00 GiB.")
        return Segment(size)

    @contextlib.contextmanager
    def use_mem_pool(self, pool: Any, device: Any = None) -> Iterator[None]:
        if any(pool in pools for pools in self._active.values()):
            raise RuntimeError("beginAllocateToPool: already recording to mempool_id")
        here = self._active.setdefault(threading.get_ident(), [])
        here.append(pool)
        try:
            yield
        finally:
            here.remove(pool)

    def _snapshot(self, key: Any) -> dict[str, Any]:
        for number in key:  # as torch 2.11 does, which has no right to
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(number))
        pool = self._pools.get(key[:2])
        found = [s.as_dict() for s in pool.segments] if pool else []
        return {"segments": found, "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": self.options}}

    def _set_options(self, text: str) -> None:
        self.set_options.append(text)
        self.options = text

    def __enter__(self) -> "FakePools":
        from ullage._pool import segments

        device = self

        class MemPool:
            def __init__(self, allocator: Any = None) -> None:
                self.allocator, self.id, self.segments = allocator, (0, next(device._ids)), []
                device._pools[self.id] = self

            def find(self, size: int) -> Segment:
                for segment in self.segments:
                    if (segment.size == 2 * MIB) == (size <= MIB) and segment.size - segment.allocated() >= size:
                        return segment
                self.segments.append(device.new_segment(self.allocator, size))
                return self.segments[-1]

            def __del__(self) -> None:
                device.aborts += any(device._active.values())
                device.used_bytes -= sum(s.size for s in self.segments)

        answers = {
            "MemPool": MemPool, "use_mem_pool": self.use_mem_pool, "is_available": lambda: True, "init": lambda: None,
            "current_device": lambda: 0, "get_allocator_backend": lambda: "native", "device": lambda index: contextlib.nullcontext(),
        }
        for name, answer in answers.items():
            self._stack.enter_context(mock.patch.object(torch.cuda, name, answer, create=True))
        for name, answer in {"_cuda_beginAllocateCurrentThreadToPool": None, "_cuda_customAllocator": lambda take, free: (take, free),
                             "_cuda_memorySnapshot": self._snapshot, "_cuda_clearCublasWorkspaces": self.workspaces.clear,
                             "_accelerator_getAllocatorSettings": lambda: self.options,
                             "_accelerator_setAllocatorSettings": self._set_options}.items():
            self._stack.enter_context(mock.patch.object(torch._C, name, answer, create=True))
        self._stack.enter_context(mock.patch.object(segments, "Runtime", lambda: self))
        self._stack.enter_context(OnDevice(self))
        return self

    def __exit__(self, *exc: Any) -> None:
        self._stack.close()


class OnDevice(TorchFunctionMode):
    """Makes what is asked for on CUDA on the CPU, and tells the device. A mode is one thread's: others enter their own."""

    def __init__(self, device: FakePools) -> None:
        super().__init__()
        self.fake = device

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[dict[str, Any]] = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is not torch.empty or not str(kwargs.get("device", "")).startswith("cuda"):
            return func(*args, **kwargs)
        made = func(*args, **{**kwargs, "device": "cpu"})
        self.fake.allocate(made)
        return made
