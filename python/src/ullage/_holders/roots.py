"""Where a walk begins: the variables of running frames, the globals of modules, and the errors that Python keeps."""
from __future__ import annotations

import inspect
import re
import sys
import threading
import types
from typing import Any, Iterator, NamedTuple, Optional

from . import edges, frames, kinds, origin
from .steps import Link, Step
from .walk import LAST_ERROR, LIBRARY, LIBRARY_FRAME, OPTIMIZER, USER, Walk

_ERRORS = ("last_exc", "last_value", "last_traceback")
_MAX_DEPTH = 100_000  # frames of a thread
# Further names under which a notebook keeps the results that are in Out.
_AGAIN = re.compile(r"_{1,3}|_\d+|_oh")


class Root(NamedTuple):
    """A value that is held by a name, and how it is to be ranked."""

    value: Any
    link: Link
    rank: int


def add_all(walk: Walk) -> list[Root]:
    """Adds every root to a walk and returns them. Frames and modules, whose variables are roots, are not walked into."""
    running, modules = _running_frames(), _modules()
    walk.shut(running)
    walk.shut(module for _, module, _ in modules)
    walk.shut(names for _, _, names in modules)
    known = {id(names) for _, _, names in modules}
    found = [*_of_errors(), *_of_modules(modules), *_of_frames(running, known)]
    for root in found:
        walk.add(root.value, root.link, root.rank)
    return found


def _of_modules(modules: list[tuple[str, Any, dict[str, Any]]]) -> Iterator[Root]:
    """The globals of modules: __main__'s first, then the user's own, then the others."""
    ranked = [(_rank(name, names), name, names) for name, _, names in modules if not _is_own(name)]
    for rank, name, names in sorted(ranked, key=lambda m: (m[0], m[1] != "__main__")):
        again = "Out" in names
        for variable, value in list(names.items()):
            later = again and type(variable) is str and _AGAIN.fullmatch(variable)
            yield Root(value, Link(None, Step("global", str(variable), where=name)), OPTIMIZER if later else rank)


def _rank(name: str, names: dict[str, Any]) -> int:
    if name == "__main__":
        return USER
    file = names.get("__file__")
    return USER if type(file) is str and origin.is_users(file) else LIBRARY


def _is_own(name: str) -> bool:
    own = __package__ or ""
    return name == own or name.startswith(own + ".")


def _modules() -> list[tuple[str, Any, dict[str, Any]]]:
    """Name, module and globals of every module that is imported. What is no module stands there as an object of its own."""
    found: dict[int, tuple[str, Any, dict[str, Any]]] = {}
    for name, module in [("__main__", sys.modules.get("__main__")), *list(sys.modules.items())]:
        if kinds.is_a(module, types.ModuleType):
            names = edges.instance_dict(module)
            found.setdefault(id(names), (str(name), module, names))  # a module may have further names
    return list(found.values())


def _running_frames() -> list[types.FrameType]:
    """The frames of all threads but our own ones, the outermost of each first, this thread's before the others'.

    A frame of ours that was kept would keep the search itself: all of its variables, in a cycle.
    """
    this = threading.get_ident()
    found: list[types.FrameType] = []
    for _, newest in sorted(sys._current_frames().items(), key=lambda thread: thread[0] != this):
        stack: list[types.FrameType] = []
        frame: Optional[types.FrameType] = newest
        while frame is not None and len(stack) < _MAX_DEPTH:
            if not origin.is_own(frame.f_code.co_filename):
                stack.append(frame)
            frame = frame.f_back
        found += reversed(stack)
    del newest, frame
    return found


def _of_frames(running: list[types.FrameType], known: set[int]) -> Iterator[Root]:
    """The local variables of frames, and the globals of those whose globals are no module's (known: ids of those that are)."""
    for frame in running:
        rank = USER if origin.is_users(frame.f_code.co_filename) else LIBRARY_FRAME
        if id(frame.f_globals) not in known:
            known.add(id(frame.f_globals))
            module = str(frame.f_globals.get("__name__", ""))
            for name, value in list(frame.f_globals.items()):
                yield Root(value, Link(None, Step("global", str(name), where=module)), rank)
        if frame.f_code.co_name == "<module>":  # its variables are its globals
            continue
        where = frames.where(frame)
        for name, value in frames.variables(frame):
            yield Root(value, Link(None, Step("local", name, where=where)), rank)


def own_arguments() -> Iterator[Any]:
    """The tuples and dictionaries that Python has made of *args and **kwargs for running functions of this package."""
    frame: Optional[types.FrameType] = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if origin.is_own(code.co_filename):
            named = code.co_argcount + code.co_kwonlyargcount
            gathered = code.co_varnames[named:named + bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)]
            yield from (value for name, value in frames.variables(frame) if name in gathered)
        frame = frame.f_back


def _of_errors() -> Iterator[Root]:
    for name in _ERRORS:
        value = getattr(sys, name, None)
        if value is not None:
            yield Root(value, Link(None, Step("named", f"sys.{name}")), LAST_ERROR)
    handled = sys.exc_info()[1]
    if handled is not None:
        yield Root(handled, Link(None, Step("named", "the exception being handled")), LAST_ERROR)
