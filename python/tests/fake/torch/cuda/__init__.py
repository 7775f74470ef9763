import os
import threading
import traceback

from torch import _C

_queued_calls = []
_initialized = False
_lock = threading.Lock()
_tls = threading.local()
_in_bad_fork = False


def _after_fork():
    global _in_bad_fork
    if _initialized:
        _in_bad_fork = True
        _C.initialized_in = os.getppid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def is_initialized():
    return _initialized and not _in_bad_fork


def _lazy_call(callable, **kwargs):
    if is_initialized():
        callable()
    else:
        _queued_calls.append((callable, traceback.format_stack()))


def _lazy_init():
    global _initialized
    if is_initialized() or hasattr(_tls, "is_initializing"):
        return
    with _lock:
        if is_initialized():
            return
        if _in_bad_fork:
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
        if os.environ.get("FAKE_NO_GPU"):
            raise RuntimeError("Found no NVIDIA driver on your system.")
        _C.initialized_in = os.getpid()
        _tls.is_initializing = True
        try:
            for call, _ in _queued_calls:
                call()
        finally:
            delattr(_tls, "is_initializing")
        _initialized = True


def is_available():
    return not os.environ.get("FAKE_NO_GPU")


def device_count():
    return _C.devices


class device:
    def __init__(self, index):
        self.index = index

    def __enter__(self):
        _C.touch()

    def __exit__(self, *exc):
        pass


class _Properties:
    name = "Fake GPU"
    total_memory = _C.total

    def __init__(self, device):
        if not os.environ.get("FAKE_TORCH", "2.11").startswith(("2.0", "2.1.", "2.3")):
            named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
            known = device < len(named) and named[device].startswith("GPU-")
            self.uuid = named[device][len("GPU-"):] if known else f"0000000{device}-0000-0000-0000-000000000000"


def get_device_properties(device):
    _lazy_init()
    return _Properties(device)


def set_per_process_memory_fraction(fraction, device=None):
    _lazy_init()
    _C.touch()
    _C.contexts.add(device or 0)  # as before torch 2.10, which asks the driver for the size
    _C.fractions[device or 0] = fraction


def mem_get_info(device=None):
    _C.touch()
    if not _C.counters[device or 0].reserved:
        raise AssertionError("a context would be made on a device that the program does not use")
    return _C.total - _C.counters[device or 0].reserved, _C.total


def memory_stats(device=None):
    if not is_initialized():
        return {}
    c = _C.counters[device or 0]
    return {
        "allocated_bytes.all.current": c.allocated,
        "allocated_bytes.all.peak": c.peak,
        "reserved_bytes.all.current": c.reserved,
        "reserved_bytes.all.peak": c.peak,
        "num_ooms": c.ooms,
        "num_alloc_retries": c.ooms,
    }


# --- what drives it; the real one has tensors


def alloc(size, device=0):
    """Allocates; more than the device has, or a limit allows, is an error as PyTorch has it."""
    from torch import OutOfMemoryError

    _lazy_init()
    _C.contexts.add(device)
    c = _C.counters[device]
    limit = int(_C.total * _C.fractions.get(device, 1))
    if c.reserved + size > limit:
        fail(size, device)
        raise OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size / (1 << 20):.2f} MiB. GPU {device} has a total capacity of 16.00 GiB of which "
            f"{(_C.total - c.reserved) / (1 << 20):.2f} MiB is free. Of the allocated memory {c.allocated / (1 << 20):.2f} MiB is allocated by "
            "PyTorch, and 0 bytes is reserved by PyTorch but unallocated."
        )
    c.allocated += size
    c.reserved += size
    c.peak = max(c.peak, c.reserved)


def free(size, device=0):
    _C.counters[device].allocated -= size
    _C.counters[device].reserved -= size


def fail(size, device=0):
    """A failure inside the allocator: its observers are called, whether or not an error reaches the program."""
    _lazy_init()
    _C.counters[device].ooms += 1
    limit = int(_C.total * _C.fractions.get(device, 1))
    for observer in _C.observers:
        observer(device, size, limit, 0)


from . import memory  # noqa: E402,F401
