"""The steps of a way from a name that the program has to an object: what refers to what, and how one would write it."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional


class Step(NamedTuple):
    """How an object is reached from the one before it, or where a way begins.

    Kinds that begin a way: global, local, named, native, cycle. All others go on from an object: attr (name), dict (an
    instance's own), child (of a module: name or number), item and index (key), element, key, cached (by functools.lru_cache),
    class, cells (a function's closure) and contents (of a cell), defaults, kwdefaults and namespace (a function's globals), frame
    and next (of a traceback), variable (of a frame or generator), state (of an optimizer, with the parameter as key), grad,
    node (of autograd), saved (by a node), pass (to the frame of a generator or its like: name), gap (steps
    left out), inside (a way that has no name).
    """

    kind: str
    name: str = ""
    key: Any = None  # of an item or index; the object that a name belongs to
    where: str = ""  # function and line, where the kind has one


class Link(NamedTuple):
    """The object from which another is reached, None at the beginning, and how."""

    parent: Optional[object]
    step: Step
