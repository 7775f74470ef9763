"""What the driver says of a card and of who uses it, asked through its own libraries: neither torch nor a CUDA context is needed."""
from __future__ import annotations

import ctypes
import os
import sys
import uuid
from dataclasses import dataclass
from typing import Any, Optional


class NoGPU(Exception):
    """There is no GPU that could be measured; hint says what to try."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class Card:
    """The facts of a card, in bytes where they are amounts."""

    index: int
    uuid: str  # as CUDA_VISIBLE_DEVICES and NVML take it
    name: str
    total_bytes: int  # as CUDA counts it: NVML's is larger by what the driver keeps
    major: int
    minor: int
    multiprocessors: int
    max_threads_per_multiprocessor: int
    l2_bytes: int
    shared_bytes_per_block: int  # that a kernel can ask for


# CUdevice_attribute of cuda.h
_ATTRIBUTES = {
    "major": 75, "minor": 76, "multiprocessors": 16, "max_threads_per_multiprocessor": 39, "l2_bytes": 38, "shared_bytes_per_block": 97,
}


def _load(*names: str) -> Optional[Any]:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class Driver:
    """libcuda. Raises NoGPU where there is no driver or no device."""

    def __init__(self) -> None:
        self._cuda = _load("nvcuda.dll") if sys.platform == "win32" else _load("libcuda.so.1", "libcuda.so")
        if self._cuda is None:
            hint = "calibrate on the machine with the GPU, and copy the file that it writes"
            raise NoGPU("there is no NVIDIA driver on this machine", hint)
        status = self._cuda.cuInit(0)
        if status != 0:
            hint = "what does nvidia-smi say? is CUDA_VISIBLE_DEVICES empty, or the container started without its GPUs?"
            raise NoGPU(f"the NVIDIA driver finds no GPU (cuInit: {self._error(status)})", hint)

    def _error(self, status: int) -> str:
        text = ctypes.c_char_p()
        self._cuda.cuGetErrorName(status, ctypes.byref(text))  # type: ignore[union-attr]
        return text.value.decode() if text.value else str(status)

    def _call(self, name: str, *args: Any) -> None:
        assert self._cuda is not None
        status = getattr(self._cuda, name)(*args)
        if status != 0:
            raise NoGPU(f"the NVIDIA driver does not answer ({name}: {self._error(status)})")

    def version(self) -> int:
        """The newest CUDA that the driver supports, as 13000."""
        n = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(n))
        return n.value

    def count(self) -> int:
        n = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(n))
        return n.value

    def card(self, index: int) -> Card:
        """The card of an ordinal, among those that CUDA_VISIBLE_DEVICES leaves."""
        if index >= self.count():
            raise NoGPU(f"there is no GPU {index}: {self.count()} can be seen, and they count from 0")
        device, name, total, identity = ctypes.c_int(), ctypes.create_string_buffer(128), ctypes.c_size_t(), (ctypes.c_ubyte * 16)()
        self._call("cuDeviceGet", ctypes.byref(device), index)
        self._call("cuDeviceGetName", name, 128, device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        self._call("cuDeviceGetUuid_v2" if hasattr(self._cuda, "cuDeviceGetUuid_v2") else "cuDeviceGetUuid", ctypes.byref(identity), device)
        numbers = {}
        for key, attribute in _ATTRIBUTES.items():
            n = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(n), attribute, device)
            numbers[key] = n.value
        text = str(uuid.UUID(bytes=bytes(identity)))
        whole = NVML.load()
        part = whole is not None and not whole.has("GPU-" + text) and whole.has("MIG-" + text)
        return Card(index=index, uuid=("MIG-" if part else "GPU-") + text, name=name.value.decode(), total_bytes=total.value, **numbers)


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


_UNKNOWN = (1 << 64) - 1  # NVML's answer where the system does not tell what a process uses
_MAX_PROCESSES = 1024


class NVML:
    """The library behind nvidia-smi."""

    def __init__(self, library: Any) -> None:
        self._lib = library

    @classmethod
    def load(cls) -> Optional["NVML"]:
        """None where it is not there or does not start."""
        library = _load("nvml.dll") if sys.platform == "win32" else _load("libnvidia-ml.so.1", "libnvidia-ml.so")
        return cls(library) if library is not None and library.nvmlInit_v2() == 0 else None

    def _handle(self, identity: str) -> Optional[ctypes.c_void_p]:
        handle = ctypes.c_void_p()
        return handle if self._lib.nvmlDeviceGetHandleByUUID(identity.encode(), ctypes.byref(handle)) == 0 else None

    def has(self, identity: str) -> bool:
        return self._handle(identity) is not None

    def driver(self) -> str:
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self._lib.nvmlSystemGetDriverVersion(text, 96) == 0 else ""

    def memory(self, identity: str) -> Optional[tuple[int, int]]:
        """The device's total and used bytes, what the driver keeps for itself included in both."""
        handle, memory = self._handle(identity), _Memory()
        if handle is None or self._lib.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) != 0:
            return None
        return memory.total, memory.used

    def processes(self, identity: str) -> Optional[dict[int, Optional[int]]]:
        """What each process uses, by process id; None for one of which it is not told."""
        handle, count, found = self._handle(identity), ctypes.c_uint(_MAX_PROCESSES), (_Process * _MAX_PROCESSES)()
        versions = (getattr(self._lib, f"nvmlDeviceGetComputeRunningProcesses_v{n}", None) for n in (3, 2))
        ask = next((found for found in versions if found is not None), None)
        if handle is None or ask is None or ask(handle, ctypes.byref(count), found) != 0:
            return None
        return {p.pid: None if p.used == _UNKNOWN else int(p.used) for p in found[: count.value]}


@dataclass(frozen=True)
class Usage:
    """What is in use of a device: by this process (None where the driver does not tell), and by all."""

    mine: Optional[int]
    device: Optional[int]
    others: int  # processes besides this one


def usage(nvml: Optional[NVML], identity: str) -> Usage:
    """Now. In a container with process ids of its own, this process is not found among those of the driver."""
    if nvml is None:
        return Usage(None, None, 0)
    memory, processes = nvml.memory(identity), nvml.processes(identity) or {}
    return Usage(processes.get(os.getpid()), memory[1] if memory else None, len(processes) - (os.getpid() in processes))
