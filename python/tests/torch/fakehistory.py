"""A FakeCuda that records, as torch.cuda.memory does: events with Python stacks, and a snapshot of them.

A free is noted when it is noticed, at the next allocation or question, as FakeCuda counts it.
"""
from __future__ import annotations

import sys
from typing import Any, Optional
from unittest import mock

import torch
from fakecuda import FakeCuda


def stack() -> list[dict[str, Any]]:
    """The Python stack as PyTorch records it, innermost frame first, without the frames that count."""
    frames, frame = [], sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.endswith(("fakecuda.py", "fakehistory.py", "_python_dispatch.py", "_dynamo/eval_frame.py", "torch/_compile.py")):
            frames.append({"filename": name, "line": frame.f_lineno, "name": frame.f_code.co_name})
        frame = frame.f_back  # type: ignore[assignment]
    return frames


class RecordingCuda(FakeCuda):
    """switched has the arguments of every call of _record_memory_history; events is the ring, entries its size."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.switched: list[Any] = []
        self.entries: Optional[int] = None  # None: nothing is recorded
        self.events: list[dict[str, Any]] = []
        self.blocks: dict[int, tuple[int, Any]] = {}  # storage: address and stack

    def record(self, enabled: Any = "all", context: Any = "all", stacks: Any = "all", max_entries: int = sys.maxsize) -> None:
        self.switched.append(enabled)
        self.entries = max_entries if enabled else None
        if not enabled:
            self.events.clear()

    def note(self, action: str, address: int, size: int, frames: Any) -> None:
        if self.entries is not None:
            self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "frames": frames})
            del self.events[: -self.entries]

    @property
    def allocated_bytes(self) -> int:
        for key in [k for k, (ref, _) in self._live.items() if ref.expired()]:
            _, size = self._live.pop(key)
            address, frames = self.blocks.pop(key)
            for action in ("free_requested", "free_completed"):
                self.note(action, address, size, frames)
        return sum(size for _, size in self._live.values())

    def count(self, storage: Any) -> None:
        before = self.allocations
        super().count(storage)
        if self.allocations > before:
            frames = stack() if self.entries is not None else []
            key, size = storage._cdata, storage.nbytes()
            self.blocks[key] = (storage.data_ptr(), frames)
            self.note("alloc", storage.data_ptr(), size, frames)

    def snapshot(self, device: Any = None, **kwargs: Any) -> dict[str, Any]:
        self.allocated_bytes
        blocks = [
            {"address": self.blocks[key][0], "size": size, "requested_size": size, "state": "active_allocated",
             "frames": self.blocks[key][1]}
            for key, (_, size) in self._live.items()
        ]
        segments = [{"device": 0, "address": b["address"], "total_size": b["size"], "blocks": [b]} for b in blocks]
        return {"segments": segments, "device_traces": [list(self.events)]}

    def __enter__(self) -> "RecordingCuda":
        super().__enter__()
        self._stack.enter_context(mock.patch.object(torch.cuda.memory, "_record_memory_history", self.record))
        self._stack.enter_context(mock.patch.object(torch.cuda.memory, "_snapshot", self.snapshot))
        self._stack.enter_context(mock.patch.object(torch.cuda, "memory_snapshot", lambda: self.snapshot()["segments"]))
        self._stack.enter_context(mock.patch.object(torch._C, "_cuda_isHistoryEnabled", lambda: self.entries is not None))
        return self
