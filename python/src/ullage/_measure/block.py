"""measure(): what a block of code does to the memory of the GPUs."""
from __future__ import annotations

import contextvars
import functools
import inspect
from types import TracebackType
from typing import Any, Callable, Mapping, Optional, TypeVar, cast

from .. import _checks as checks
from .._torch import api, memory
from . import events, recording
from .result import DeviceUse, Measurement

F = TypeVar("F", bound=Callable[..., Any])

# The blocks that are open here, innermost last: tasks of asyncio take turns in one thread, and each has a context of its own.
_begun: contextvars.ContextVar[tuple[_Block, ...]] = contextvars.ContextVar("ullage.measure", default=())


class measure:  # a class by its making, a function to those who call it
    """Measures what a block of code, or a function, does to the GPUs' memory.

        with ullage.measure("forward") as m:
            loss = model(batch).sum()
        print(m)

        @ullage.measure(report=print)
        def step(batch): ...

    name    what the result is called; a decorated function's own name if there is none
    sites   who allocated what was kept and what was live at the peak: memory is recorded meanwhile (2 us an allocation, and
            some 1 KiB of main memory), or the recording that is on already is used. False: the counters alone
    report  is called with each Measurement when its block has ended

    Counts everything that the process allocates through PyTorch while the block runs, in all threads. A GPU's allocator counts when
    memory is asked for, so that nothing has to be waited for. Blocks can be nested, and one object used again and within itself. A
    decorated function has the last Measurement, or None, as its attribute `measured`.

    The allocator's peaks are reset at the beginning of a block: torch.cuda.max_memory_allocated() counts from there afterwards.
    Outer blocks keep what they have seen; a reset by the program itself, within a block, hides what was before it.

    Raises TypeError when it decorates a generator, whose body runs outside of the call.
    """

    def __init__(self, name: str = "", *, sites: bool = True, report: Optional[Callable[[Measurement], Any]] = None) -> None:
        self.name = checks.text("name", name, hint="write @ullage.measure() with parentheses" if callable(name) else "")
        self.sites = checks.flag("sites", sites)
        self.report = checks.optional(checks.function, "report", report, given="a Measurement")
        self._open: list[_Block] = []  # that this object has begun, in any thread and task

    def __enter__(self) -> Measurement:
        block = _Block(self.name, self.sites)
        self._open.append(block)
        _begun.set((*_begun.get(), block))
        return block.result

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        block = self._innermost()
        self._open.remove(block)
        _begun.set(tuple(b for b in _begun.get() if b is not block))
        block.end(kind)
        if self.report is not None:
            self.report(block.result)

    def _innermost(self) -> _Block:
        """The block that ends: this object's last of this thread and task, or its only one, begun elsewhere."""
        mine = [block for block in _begun.get() if block in self._open]
        found = mine or self._open
        if not mine and len(found) != 1:
            raise RuntimeError(f"a block of measure({self.name!r}) ends where none began, and {len(found)} of this object are open elsewhere")
        return found[-1]

    def __call__(self, function: F) -> F:
        checks.decorated("what measure() decorates", function)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"measure() can't decorate the generator {checks.called(function)}: measure within it, or the loop over it")
        fresh = functools.partial(measure, self.name or getattr(function, "__qualname__", ""), sites=self.sites, report=self.report)
        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> Any:
                with fresh() as result:
                    call_async.measured = result  # type: ignore[attr-defined]
                    return await function(*args, **kwargs)

            call_async.measured = None  # type: ignore[attr-defined]
            return cast(F, call_async)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with fresh() as result:
                call.measured = result  # type: ignore[attr-defined]
                return function(*args, **kwargs)

        call.measured = None  # type: ignore[attr-defined]
        return cast(F, call)


class _Block:
    """A block of code that is being measured."""

    def __init__(self, name: str, sites: bool) -> None:
        import torch

        self.torch, self.sites = torch, sites
        self.result = Measurement(name)
        self.peaks: dict[int, tuple[int, int]] = {}  # the highest peaks that somebody's reset took away: allocated, reserved
        if sites:
            problem = recording.begin(torch)
            if problem:
                self.result.notes.append(f"no sites: {problem}")
        self.before: Mapping[int, Mapping[str, int]] = _used(torch)
        for device in self.before:
            memory.reset_peaks(device)
        self.unfollow = memory.on_reset(self._see)

    def _see(self, device: int, now: memory.Reading) -> None:
        allocated, reserved = self.peaks.get(device, (0, 0))
        self.peaks[device] = max(allocated, now.peak_allocated_bytes), max(reserved, now.peak_reserved_bytes)

    def end(self, kind: Optional[type[BaseException]]) -> None:
        """Fills in the result. What can't be found out is noted there: an error here would hide the block's own."""
        after = _used(self.torch)
        self.unfollow()
        told: dict[int, events.Told] = {}
        if self.sites:
            try:
                told = self._told(after)
            except RuntimeError as e:  # the back end cudaMallocAsync gives no snapshots
                self.result.notes.append(f"no sites: {str(e).splitlines()[0]}")
            recording.end(self.torch)
        self.result.devices = tuple(self._use(device, stats, told.get(device)) for device, stats in after.items())
        self.result.error = kind.__name__ if kind is not None else None
        self.result.finished = True

    def _told(self, after: Mapping[int, Mapping[str, int]]) -> dict[int, events.Told]:
        if not api.recording(self.torch):
            if after and not self.result.notes:
                self.result.notes.append("no sites: recording was switched off within the block")
            return {}
        snapshot = self.torch.cuda.memory._snapshot()
        told = {}
        for device, stats in after.items():
            before = self.before.get(device, {})
            allocations, frees = (_moved(before, stats, f"allocation.all.{way}") for way in ("allocated", "freed"))
            found, missing = events.tail(snapshot["device_traces"][device], allocations, frees)
            sizes = events.block_sizes(snapshot["segments"], device)
            told[device] = events.replay(found, before.get("allocated_bytes.all.current", 0), sizes, missing)
            if found and not any(e.get("frames") for e in found):
                self.result.notes.append("the recording that is on keeps no stacks, so that places can't be told apart")
            if missing:
                self.result.notes.append(
                    f"the recording of cuda:{device} lacks {missing:,} allocations of the block: sites are those of the others")
        return told

    def _use(self, device: int, stats: Mapping[str, int], told: Optional[events.Told]) -> DeviceUse:
        before, after = memory.reading_of(self.before.get(device, {})), memory.reading_of(stats)
        seen_allocated, seen_reserved = self.peaks.get(device, (0, 0))
        return DeviceUse(
            device=device,
            before_bytes=before.allocated_bytes,
            after_bytes=after.allocated_bytes,
            allocated_bytes=_moved(self.before.get(device, {}), stats, "allocated_bytes.all.allocated"),
            freed_bytes=_moved(self.before.get(device, {}), stats, "allocated_bytes.all.freed"),
            peak_bytes=max(after.peak_allocated_bytes, seen_allocated),
            peak_reserved_bytes=max(after.peak_reserved_bytes, seen_reserved),
            reserved_before_bytes=before.reserved_bytes,
            reserved_after_bytes=after.reserved_bytes,
            retries=after.retries - before.retries,
            failures=after.failures - before.failures,
            kept=told.kept if told else None,
            at_peak=told.at_peak if told else None,
            before_at_peak_bytes=told.before_at_peak_bytes if told else None,
            missing=told.missing if told else 0,
        )


def _used(torch: Any) -> Mapping[int, Mapping[str, int]]:
    """The counters of the devices that are in use; none before CUDA is."""
    return api.used_devices(torch) if memory.in_use() else {}


def _moved(before: Mapping[str, int], after: Mapping[str, int], counter: str) -> int:
    return after.get(counter, 0) - before.get(counter, 0)
