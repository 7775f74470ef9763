"""Where a pool's segments come from: the driver, through a function that refuses what would pass the pool's limit.

PyTorch lets a private pool have an allocator of its own, of which it asks whole segments (2 MiB, 20 MiB, or more) and into
which it does its caching as always. So counting there costs nothing per tensor, and is exact in every thread. The function is
Python's, called from C++: it takes the interpreter's lock. PyTorch holds its allocator's lock meanwhile unless told otherwise,
and a thread that has the interpreter's lock and frees a tensor waits for that one: a deadlock (pytorch#97833 is one of the kind).
release_allocator_lock() tells it otherwise. Segments are freed by the runtime's own function, which takes no lock of ours.
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
from dataclasses import dataclass
from typing import Any, Optional

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
_RELAXED = 2  # cudaStreamCaptureModeRelaxed: taking memory while another stream is captured is no mistake
LOCK_OPTION = "release_lock_on_cudamalloc"
_setting = threading.Lock()  # held while settings are read and changed


@dataclass(frozen=True)
class Refusal:
    """A segment that a pool didn't get."""

    asked_bytes: int
    by_limit: bool  # by the pool's own limit, else by the driver


class Runtime:
    """The functions of CUDA's runtime that this process has loaded with torch."""

    def __init__(self) -> None:
        import torch

        if not sys.platform.startswith("linux"):
            raise RuntimeError("a pool needs Linux: PyTorch gives private pools an allocator of their own only there")
        path = os.path.join(os.path.dirname(torch.__file__), "lib", "libc10_cuda.so")
        try:
            library = ctypes.CDLL(path)  # symbols are looked up in what it depends on, too: the runtime in use
            self._malloc, self._free, self._mode = library.cudaMalloc, library.cudaFree, library.cudaThreadExchangeStreamCaptureMode
        except (OSError, AttributeError) as e:
            raise RuntimeError(f"a pool needs PyTorch for CUDA with the runtime as a shared library: {path}: {e}") from e

    @property
    def free_address(self) -> int:
        return ctypes.cast(self._free, ctypes.c_void_p).value or 0

    def malloc(self, size_bytes: int) -> int:
        """The address of memory on the current device, or 0."""
        pointer, mode = ctypes.c_void_p(), ctypes.c_int(_RELAXED)
        self._mode(ctypes.byref(mode))
        try:
            failed = self._malloc(ctypes.byref(pointer), ctypes.c_size_t(size_bytes))
        finally:
            self._mode(ctypes.byref(mode))
        return 0 if failed else pointer.value or 0


class Segments:
    """What one pool has taken of the driver, in bytes, and what it last was refused."""

    def __init__(self, limit_bytes: Optional[int], runtime: Any) -> None:
        self.limit_bytes, self.taken_bytes = limit_bytes, 0
        self.refusal: Optional[Refusal] = None
        self._runtime = runtime
        self._lock = threading.RLock()  # collecting garbage within can come back here
        self._callback = _SIGNATURE(self._take)
        self._allocator: Any = None

    def allocator(self) -> Any:
        """What torch.cuda.MemPool takes as its allocator. This object has to live as long as the pool's segments do.

        So has the allocator, which PyTorch asks to free segments after it has given their pool up.
        """
        import torch

        take = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._allocator = torch._C._cuda_customAllocator(take, self._runtime.free_address)
        return self._allocator

    def _take(self, size: int, device: int, stream: Any) -> Optional[int]:
        with self._lock:
            if self.limit_bytes is not None and self.taken_bytes + size > self.limit_bytes:
                self.refusal = Refusal(size, True)
                return None
            self.taken_bytes += size
        address: int = self._runtime.malloc(size)
        if not address:
            with self._lock:
                self.taken_bytes -= size
                self.refusal = Refusal(size, False)
            return None
        return address


def release_allocator_lock() -> None:
    """Has PyTorch let go of its allocator's lock while it asks for a segment, for this process and from now on.

    Setting one option sets those that aren't named back to their defaults, so they are named again.
    """
    import torch

    with _setting:
        now = settings()
        if f"{LOCK_OPTION}:True" not in now:
            change = getattr(torch._C, "_accelerator_setAllocatorSettings", None) or torch.cuda.memory._set_allocator_settings  # torch 2.9
            change(f"{now},{LOCK_OPTION}:True" if now else f"{LOCK_OPTION}:True")


def settings() -> str:
    """The allocator's options in force, as they were last set."""
    import torch

    getter = getattr(torch._C, "_accelerator_getAllocatorSettings", None)  # torch 2.15
    if getter is not None:
        return str(getter())
    return str(snapshot((0, 0)).get("allocator_settings", {}).get("PYTORCH_CUDA_ALLOC_CONF", ""))


def snapshot(pool_id: tuple[int, int]) -> Any:
    """PyTorch's account of a pool's segments, and of its settings; (0, 0) is all that there is. No history, where it can be left out.

    torch 2.11 gives up a reference to each of the numbers that isn't its own (pytorch PR#196366): an id above 256 would be freed while it
    is in use, and some hundred calls later the process would die. So each number gets a reference more.
    """
    import torch

    try:
        return _asked(torch, (*pool_id, False))
    except (RuntimeError, TypeError):  # torch 2.10 and before take two numbers
        return _asked(torch, pool_id)


def _asked(torch: Any, key: tuple[int, ...]) -> Any:
    for number in key:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(number))
    return torch._C._cuda_memorySnapshot(key)


def option(text: str, name: str) -> Optional[str]:
    """The value of an option in the allocator's settings, or None."""
    for part in text.replace(" ", "").split(","):
        key, _, value = part.partition(":")
        if key == name:
            return value
    return None
