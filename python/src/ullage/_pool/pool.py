"""Pool: memory set apart for a part of a program."""
from __future__ import annotations

import functools
import gc
import itertools
import threading
import warnings
import weakref
from typing import Any, Callable, Optional, TypeVar, Union

import torch

from .. import _checks as checks
from .. import _units
from .._torch import memory, oomtext
from . import errors, routing, segments
from .cache import Cache
from .limit import SEGMENT_BYTES

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

SMALL_SEGMENT_BYTES = SEGMENT_BYTES  # where requests up to SMALL_BYTES go
SMALL_BYTES = 1 << 20
LARGE_BYTES = 10 << 20  # from here on a segment is as large as the request, rounded up to 2 MiB
LEAST_RESERVE_BYTES = 16 << 20
_count = itertools.count(1)
_sources: set[Any] = set()  # PyTorch keeps the addresses of functions of these, perhaps for longer than their pool


class Pool:
    """Memory of one CUDA device, set apart for what runs in it: up to limit bytes, of which reserve are taken at once and kept.

        pool = ullage.Pool(limit=8 << 30, reserve=4 << 30, name="chat")
        with pool:                     # or pool.run(fn, ...), or @pool
            answer = model(question)

    What is allocated in the block is the pool's, in this thread and in its backward pass, and stays so until it is freed,
    wherever that is. Beyond the limit, PoolOutOfMemory is raised at the block's end; other pools and what is outside are left alone.
    Threads take turns. close() gives everything back.

    limit and reserve are bytes, or text as "8GiB", and count whole segments of the caching allocator: 2 MiB for tensors up
    to 1 MiB, 20 MiB up to 10 MiB, the size itself beyond. limit=None is bounded by the device alone. The reserve serves the stream that is current here.
    Needs torch 2.8 or newer for CUDA on Linux and its native allocator with caching; RuntimeError says which is missing.
    """

    def __init__(
        self, limit: Union[int, str, None] = None, reserve: Union[int, str] = 0, device: memory.Device = None, name: Optional[str] = None,
    ) -> None:
        limit_bytes, reserve_bytes = _amounts(limit, reserve)
        cuda = checks.cuda_device("device", device)
        self.name = checks.optional(checks.text, "name", name) or f"pool-{next(_count)}"
        _check_torch()
        self.device_index = memory.index_of(cuda)
        self._turn = threading.RLock()  # one thread is in it at a time
        self._caches: weakref.WeakSet[Cache] = weakref.WeakSet()
        self._routing: Any = None
        self._mempool: Any = None
        self._segments = segments.Segments(limit_bytes, segments.Runtime())
        torch.cuda.init()  # type: ignore[no-untyped-call]
        segments.release_allocator_lock()
        _sources.add(self._segments)
        with torch.cuda.device(self.device_index):
            self._mempool = torch.cuda.MemPool(self._segments.allocator())
        self._pool_id: tuple[int, int] = tuple(self._mempool.id)
        try:
            self._take_reserve(reserve_bytes)
        except BaseException:
            self._abandon()
            raise

    # --- what it holds

    @property
    def limit_bytes(self) -> Optional[int]:
        """What it may take of the device; None: all."""
        return self._segments.limit_bytes

    @property
    def reserved_bytes(self) -> int:
        """What it has taken of the device."""
        return self._segments.taken_bytes

    @property
    def allocated_bytes(self) -> int:
        """What of that is in tensors, wherever they are now. Counts the pool's blocks: some microseconds for each of its segments."""
        return sum(int(s["allocated_size"]) for s in self._snapshot())

    @property
    def id(self) -> tuple[int, int]:
        """For torch.cuda.graph(..., pool=pool.id), outside of the pool's block: the graph's memory is then the pool's."""
        self._check_open()
        return self._pool_id

    @property
    def closed(self) -> bool:
        return self._mempool is None

    def __repr__(self) -> str:
        return f"pool {self.name!r} on cuda:{self.device_index}"

    # --- running in it

    def __enter__(self) -> "Pool":
        routing.enter(self)
        if routing.times(self) == 1:
            self._segments.refusal = None
        return self

    def __exit__(self, kind: Any, exc: Optional[BaseException], traceback: Any) -> None:
        told = None
        try:
            if exc is not None and routing.times(self):
                told = self._why(exc)
        finally:
            routing.leave(self)
        if told is not None:
            raise told from exc

    def run(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """fn(*args, **kwargs), in the pool."""
        checks.function("fn", fn)
        with self:
            return checks.ran("fn", fn(*args, **kwargs))

    def __call__(self, fn: F) -> F:
        """As a decorator: has fn run in the pool. TypeError for what runs after the call has returned: generators and coroutines."""
        checks.decorated("what a pool decorates", fn)
        if checks.runs_later(fn):
            raise TypeError(
                f"{checks.called(fn)} runs after the call has returned, outside of {self}: use `with pool:` within, around no await or yield")

        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return fn(*args, **kwargs)

        return inside  # type: ignore[return-value]

    def cache(self, size: Union[int, str]) -> Cache:
        """A cache of size bytes, or text as "2GiB", for buffers that are made anew for each request.

        PoolOutOfMemory if there is no room for it.
        """
        size_bytes = checks.size_bytes("size", size, least=1)
        with self:
            slab = self._bytes(size_bytes)
        made = Cache(slab, f"cache of {self}")
        self._caches.add(made)
        return made

    # --- giving it back

    def close(self) -> None:
        """Gives all its memory back to the device, when no thread is in a pool: it waits for that, and threads that want in wait for it.

        Raises PoolInUse if tensors are left in it, and RuntimeError within any pool's block, and changes nothing then.
        """
        inside = routing.innermost()
        if inside is not None:
            raise RuntimeError(f"{self} can't be closed from within the block of {inside}: PyTorch gives pools up only outside of them")
        routing.gate.close()
        try:
            if self._mempool is not None:
                self._close()
        finally:
            routing.gate.open()

    def _close(self) -> None:
        for cache in list(self._caches):
            cache.close()
        for more in (gc.collect, _drop_workspaces):
            if self.allocated_bytes:
                more()
        live = self.allocated_bytes
        if live:
            blocks = sum(b["state"] == "active_allocated" for s in self._snapshot() for b in s["blocks"])
            raise errors.PoolInUse(
                f"{self} can't be closed: {_units.size(live)} of it are in {_units.count(blocks, 'block')} that tensors refer to\n"
                "hint: drop the model and what it returned first; ullage.holders() says who refers to them", live)
        with torch.cuda.device(self.device_index):
            self._mempool = None  # gives the segments back
        self._segments.taken_bytes = 0

    def _abandon(self) -> None:
        mempool, self._mempool = self._mempool, None
        routing.gate.abandon(mempool)

    def __del__(self) -> None:
        if getattr(self, "_mempool", None) is not None:
            self._abandon()
            warnings.warn(f"{self} was dropped and not closed", ResourceWarning, source=self)

    # --- within

    def _route(self) -> None:
        self._routing = torch.cuda.use_mem_pool(self._mempool, self.device_index)
        self._routing.__enter__()

    def _unroute(self) -> None:
        routing_, self._routing = self._routing, None
        routing_.__exit__(None, None, None)

    def _snapshot(self) -> Any:
        self._check_open()
        return segments.snapshot(self._pool_id)["segments"]

    def _check_open(self) -> None:
        if self._mempool is None:
            raise RuntimeError(f"{self} is closed")

    def _take_reserve(self, reserve: int) -> None:
        """Makes segments by making tensors that fill them. One byte is asked for in any case, to see that torch asks us."""
        small = SMALL_SEGMENT_BYTES
        if reserve:
            small = min(max(reserve // 32, SMALL_SEGMENT_BYTES), 64 << 20) // SMALL_SEGMENT_BYTES * SMALL_SEGMENT_BYTES
            if segments.option(segments.settings(), "max_split_size_mb"):
                raise RuntimeError("a pool can't keep a reserve while max_split_size_mb is set: its segment could not be cut")
        fill = []
        try:
            with self:
                for _ in range(small // SMALL_BYTES):
                    fill.append(self._bytes(SMALL_BYTES))
                if not self.reserved_bytes:
                    raise RuntimeError(f"this torch ({torch.__version__}) doesn't ask a pool's own allocator: no limit can be kept")
                if reserve:
                    fill.append(self._bytes(-(-(reserve - self.reserved_bytes) // SMALL_SEGMENT_BYTES) * SMALL_SEGMENT_BYTES))
        finally:
            fill.clear()  # the traceback of an error refers to the list

    def _bytes(self, count: int) -> torch.Tensor:
        return torch.empty(count, dtype=torch.uint8, device=f"cuda:{self.device_index}")

    def _why(self, exc: BaseException) -> Optional[errors.PoolOutOfMemory]:
        """What an out-of-memory error in the block means for the pool, or None if it says nothing of it."""
        refusal = self._segments.refusal
        if refusal is None or isinstance(exc, errors.PoolOutOfMemory) or not oomtext.is_allocators(exc):
            return None
        if _as_torch_writes(refusal.asked_bytes) not in str(exc):
            return None  # of something else: an earlier one was caught within the block
        if refusal.by_limit:
            assert self.limit_bytes is not None
            return errors.over_limit(repr(self), refusal.asked_bytes, self.reserved_bytes, self.limit_bytes, self.allocated_bytes)
        return errors.device_full(repr(self), refusal.asked_bytes, self.reserved_bytes, self.limit_bytes)


def _drop_workspaces() -> None:
    """Frees cuBLAS's workspaces, 8 to 32 MiB a thread and stream, kept from the first product on. The next makes them anew."""
    drop = getattr(torch._C, "_cuda_clearCublasWorkspaces", None)
    if drop is not None:
        drop()


def _as_torch_writes(size_bytes: int) -> str:
    """An amount as it stands in the text of PyTorch's error."""
    for unit, bound in (("bytes", 1 << 10), ("KiB", 1 << 20), ("MiB", 1 << 30)):
        if size_bytes <= bound:
            return f"{size_bytes} bytes" if unit == "bytes" else f"{size_bytes / (bound >> 10):.2f} {unit}"
    return f"{size_bytes / (1 << 30):.2f} GiB"


def _amounts(limit: Any, reserve: Any) -> tuple[Optional[int], int]:
    """A pool's limit and reserve, in bytes."""
    why = "the allocator's smallest segment"
    limit_bytes = checks.optional(checks.size_bytes, "limit", limit, least=SMALL_SEGMENT_BYTES, why=why)
    reserve_bytes = checks.size_bytes("reserve", reserve)
    if reserve_bytes:
        checks.size_bytes("reserve", reserve, least=LEAST_RESERVE_BYTES, why="since segments are large, or 0")
    if limit_bytes is not None and reserve_bytes > limit_bytes:
        raise ValueError(f"reserve is {_units.size(reserve_bytes)}, but has to be at most the limit, {_units.size(limit_bytes)}")
    return limit_bytes, reserve_bytes


def _check_torch() -> None:
    missing = not hasattr(torch.cuda, "MemPool") or not hasattr(torch._C, "_cuda_beginAllocateCurrentThreadToPool")
    if missing:
        raise RuntimeError(f"a pool needs torch 2.8 or newer, for CUDA: {torch.__version__} has no pools for single threads")
    checks.need_cuda("a pool")
    backend = torch.cuda.get_allocator_backend()
    if backend != "native":
        raise RuntimeError(f"a pool needs PyTorch's native allocator, and this process runs with backend:{backend}")
