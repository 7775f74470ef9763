"""The lines of code that a recorded stack stands for."""
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Iterable, Mapping, Optional, Sequence

from .._holders import origin

# Autograd runs the backward pass in threads of its own, which have no Python code on their stacks.
NO_STACK = "no Python stack: the backward pass, or a thread of C++"


@dataclass(frozen=True)
class Site:
    """A place in the code, and what was allocated there."""

    place: str  # the innermost line of the program's own code, as "train.py:40 step"; what there is, where none is its own
    call: str  # the innermost line of a library that it called, as "linear.py:125 forward"; "" without one
    size_bytes: int
    blocks: int

    def as_dict(self) -> dict[str, Any]:
        return {"place": self.place, "call": self.call, "bytes": self.size_bytes, "blocks": self.blocks}


def names(frames: Optional[Sequence[Mapping[str, Any]]]) -> tuple[str, str]:
    """(place, call) of a stack, innermost frame first, as PyTorch records it."""
    python = [f for f in frames or () if _is_python(str(f["filename"])) and not origin.is_own(str(f["filename"]))]
    if not python:
        return NO_STACK, ""
    inner = python[0]
    for frame in python:
        if _is_users(str(frame["filename"])):
            return _show(frame, short=False), "" if frame is inner else _show(inner, short=True)
    return _show(inner, short=True), ""


def group(blocks: Iterable[tuple[Optional[Sequence[Mapping[str, Any]]], int]]) -> tuple[Site, ...]:
    """Blocks, given as (stack, bytes), by site, the largest first."""
    sums: dict[tuple[str, str], list[int]] = {}
    for frames, size in blocks:
        total = sums.setdefault(names(frames), [0, 0])
        total[0] += size
        total[1] += 1
    sites = [Site(place, call, size, count) for (place, call), (size, count) in sums.items()]
    return tuple(sorted(sites, key=lambda s: (-s.size_bytes, s.place, s.call)))


def _show(frame: Mapping[str, Any], short: bool) -> str:
    filename = str(frame["filename"])
    name = os.path.basename(filename) if short else _near(filename)
    return f"{name}:{frame['line']} {frame['name']}"


@lru_cache(maxsize=4096)
def _near(filename: str) -> str:
    """A file by its path from the current folder where it lies below it, else in full."""
    here = os.getcwd()
    inside = os.path.isabs(filename) and filename.startswith(here + os.sep)
    return os.path.relpath(filename, here) if inside else filename


def _is_python(filename: str) -> bool:
    """Frames of C++, in recordings that ask for them, are named by a library or a source file of their own."""
    return filename.endswith(".py") or filename.startswith("<")


def _is_users(filename: str) -> bool:
    """Whether code is the program's own. What torch.compile writes lies in a folder of temporary files."""
    return origin.is_users(filename) and "torchinductor" not in filename
