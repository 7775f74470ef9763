"""Writes a trace: tables of frames, stacks, modules and signatures, each row before its first use, and events in their order.

Everything is appended to one list under the interpreter's lock, and written from time to time. Lines are made by hand where they
are many: an event costs about a microsecond.
"""
from __future__ import annotations

import json
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, BinaryIO, Optional

MAX_FRAMES = 64  # of a stack; the innermost are kept
FLUSH_LINES = 4000

_HERE = os.path.dirname(os.path.abspath(__file__))
_OWN = (_HERE + os.sep, os.path.join(os.path.dirname(_HERE), "_remedies") + os.sep)


def _is_within_tracer(filename: str) -> bool:
    """Whether a frame is of the tracer, or of torch's code for fake tensors beneath it."""
    return filename.startswith(_OWN) or "/torch/_subclasses/" in filename or filename.endswith(("/torch/_ops.py", "/utils/_python_dispatch.py", "/torch/_compile.py"))


class Trace:
    """The file of one process."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Optional[BinaryIO] = open(path, "wb")
        self._begun, self._begun_bytes = b"", 0  # of a child that was forked: what its parent had written
        self._lines: list[str] = []
        self._frames: dict[tuple[int, int], int] = {}
        self._codes: dict[int, CodeType] = {}  # keeps them, so that their ids stay theirs
        self._owned: dict[int, bool] = {}  # by code object: whether it is the tracer's
        self._stacks: dict[tuple[int, ...], int] = {}
        self._shapes: dict[tuple[tuple[int, int], ...], int] = {}  # stacks by code and instruction: looking up a line is slow
        self._signatures: dict[Any, int] = {}
        self._modules: dict[tuple[str, str], int] = {}
        self._noted: set[tuple[str, int]] = set()
        self._pid = os.getpid()
        self._closing = threading.Lock()
        self.closed = False

    # --- lines

    def line(self, kind: str, **keys: Any) -> None:
        """Adds a line; keys that are None are left out."""
        self.add(json.dumps({"e": kind, **{k: v for k, v in keys.items() if v is not None}}, separators=(",", ":")))

    def add(self, text: str) -> None:
        """Adds a line that is JSON already."""
        if self.closed:
            return
        self._lines.append(text)
        if len(self._lines) >= FLUSH_LINES:
            self.flush()

    def flush(self) -> None:
        """Writes what has been added. A child that was forked has a copy of the file, and must not write to it."""
        if self.closed or os.getpid() != self._pid:
            return
        lines, self._lines = self._lines, []
        if lines:
            file = self._open()
            file.write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
            file.flush()

    def before_fork(self) -> None:
        """Writes what has been added, so that it is in one place only when the process has two copies."""
        self.flush()
        if not self.closed:
            self._begun_bytes = os.path.getsize(self._path)

    def begin_in_child(self) -> None:
        """Goes on in a child that was forked, to which what has been written so far belongs as well.

        The child's own file is made once it has something to say: most children are helpers.
        """
        if self.closed:
            return
        with open(self._path, "rb") as f:
            self._begun = f.read(self._begun_bytes)
        self._pid, self._file, self._closing = os.getpid(), None, threading.Lock()
        self._path = os.path.join(os.path.dirname(self._path), f"trace-{self._pid}.jsonl")

    def _open(self) -> BinaryIO:
        """The file, made at its first line."""
        if self._file is None:
            self._file = open(self._path, "wb")
            self._file.write(self._begun)
        return self._file

    def close(self, **end: Any) -> None:
        """Writes the end of the trace; what comes later is not written. Only the first call counts."""
        with self._closing:
            if self.closed or os.getpid() != self._pid:
                return
            if self._file is not None or self._lines:  # else it was forked, and a helper
                self.line("end", **end)
                self.flush()
            self._shut()

    def abandon(self) -> None:
        """Removes the trace: what this process does is of no interest."""
        with self._closing:
            if not self.closed and os.getpid() == self._pid:
                self._shut()
                os.unlink(self._path)

    def _shut(self) -> None:
        self.closed = True
        if self._file is not None:
            self._file.close()

    def note(self, what: str, text: str, stack: Optional[int] = None) -> None:
        """Says what the trace assumes, once for each kind and place."""
        place = (what + text, -1 if stack is None else stack)
        if place not in self._noted:
            self._noted.add(place)
            self.line("note", what=what, text=text, k=stack)

    # --- tables

    def stack(self, frame: Optional[FrameType]) -> int:
        """The id of the Python stack that ends in frame, without the tracer's own frames at its inner end. -1 where it is empty."""
        while frame is not None and self.is_own(frame.f_code):
            frame = frame.f_back
        shape = []
        at, owned = frame, self._owned
        while at is not None:
            code = id(at.f_code)
            if not owned.get(code):  # an own frame that was not seen yet makes one more shape of the same stack
                shape.append((code, at.f_lasti))
            at = at.f_back
        if not shape:
            return -1
        key = tuple(shape)
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = self._new_stack(frame)
        return found

    def is_own(self, code: CodeType) -> bool:
        """Whether code is the tracer's, or torch's beneath it."""
        known = self._owned.get(id(code))
        if known is None:
            self._codes[id(code)] = code
            known = self._owned[id(code)] = _is_within_tracer(code.co_filename)
        return known

    def _new_stack(self, frame: Optional[FrameType]) -> int:
        ids = []
        while frame is not None:
            if not self.is_own(frame.f_code):
                ids.append(self._frame(frame))
            frame = frame.f_back
        key = tuple(ids)
        found = self._stacks.get(key)
        if found is None:
            found = self._stacks[key] = len(self._stacks)
            more = len(ids) - MAX_FRAMES
            self.line("stack", id=found, f=ids[:MAX_FRAMES], more=more if more > 0 else None)
        return found

    def _frame(self, frame: FrameType) -> int:
        code, lineno = frame.f_code, frame.f_lineno or 0
        key = (id(code), lineno)
        found = self._frames.get(key)
        if found is None:
            self._codes[id(code)] = code
            found = self._frames[key] = len(self._frames)
            self.line("frame", id=found, file=code.co_filename, line=lineno, name=getattr(code, "co_qualname", code.co_name))
        return found

    def module(self, name: str, cls: str) -> int:
        """The id of a module's path and class."""
        found = self._modules.get((name, cls))
        if found is None:
            found = self._modules[name, cls] = len(self._modules)
            self.line("module", id=found, name=name, **{"class": cls})
        return found

    def signature(self, key: Any) -> Optional[int]:
        """The id of a signature that was added under key, or None."""
        return self._signatures.get(key)

    def add_signature(self, key: Any, row: dict[str, Any]) -> int:
        """Adds a signature under key and returns its id."""
        found = self._signatures[key] = len(self._signatures)
        self.line("sig", id=found, **row)
        return found


def caller(depth: int = 1) -> Optional[FrameType]:
    """The frame that called the caller of this."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None
