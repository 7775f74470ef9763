"""Tells exceptions that mean a lack of GPU memory from others.

PyTorch has a class for it, but libraries that ask the driver themselves raise a RuntimeError with a text of their own, and
on MIG and Jetson the class is hidden behind an assertion. docs/rules/oom/hidden.md and nvml-assert.md have the sources.
"""
from __future__ import annotations

from typing import Optional

CLASSES = ("OutOfMemoryError",)  # torch.OutOfMemoryError, torch.cuda.OutOfMemoryError before 2.5
TEXTS = (
    "CUDA out of memory",
    "HIP out of memory",
    "CUDA error: out of memory",
    "HIP error: out of memory",
    "cudaErrorMemoryAllocation",
    "hipErrorOutOfMemory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUBLAS_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_NOT_INITIALIZED",
    "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_ALLOC_FAILED",
    "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
    "CUFFT_ALLOC_FAILED",
    "Failed to CUDA calloc",
    "Failed to CUDA malloc",
    "NVML_SUCCESS == r",
    "nvmlDeviceGetHandleByPciBusId",
)
MAX_CHAIN = 16  # exceptions of a chain that are looked at


def first_of(exc: Optional[BaseException]) -> Optional[BaseException]:
    """The first exception in a chain that means a lack of GPU memory, or None."""
    for _ in range(MAX_CHAIN):
        if exc is None or is_oom(exc):
            return exc
        exc = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)
    return None


def message_of(exc: Optional[BaseException]) -> Optional[str]:
    """The text of the first exception in a chain that means a lack of GPU memory, or None."""
    found = first_of(exc)
    return None if found is None else f"{type(found).__name__}: {text_of(found)}"


def is_oom(exc: BaseException) -> bool:
    """Whether exc itself, whatever it was raised from, means a lack of GPU memory."""
    return is_allocators(exc) or isinstance(exc, RuntimeError) and any(t in text_of(exc) for t in TEXTS)


def is_allocators(exc: BaseException) -> bool:
    """Whether PyTorch's own allocator raised exc: it has told its observers."""
    return any(cls.__name__ in CLASSES and cls.__module__.startswith("torch") for cls in type(exc).__mro__)


def text_of(exc: BaseException) -> str:
    """The beginning of an exception's message, or nothing where it has none that can be had."""
    try:
        return str(exc)[:8000]
    except Exception:  # an exception's __str__ is the program's own code
        return ""
