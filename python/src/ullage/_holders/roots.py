"""Where a walk begins: the variables of running frames, the globals of modules, and the errors that Python keeps."""
from __future__ import annotations

import inspect
import re
import sys
import threading
import types
from typing import Any, Container, Iterator, NamedTuple, Optional

from . import edges, frames, kinds, origin
from .steps import Link, Step
from .walk import LAST_ERROR, LIBRARY, LIBRARY_FRAME, OPTIMIZER, USER, Walk

_ERRORS = ("last_exc", "last_value", "last_traceback")
_MAX_DEPTH = 100_000  # frames of a thread
# Further names under which a notebook keeps the results that are in Out.
_AGAIN = re.compile(r"_{1,3}|_\d+|_oh")


class Module(NamedTuple):
    """A module and its globals."""

    name: str
    module: Any
    names: dict[str, Any]


class Root(NamedTuple):
    """A value that is held by a name, and how it is to be ranked."""

    value: Any
    link: Link
    rank: int


def add_all(walk: Walk) -> None:
    """Adds every root to a walk. Frames and modules, whose variables are roots, are not walked into."""
    running, modules = _running_frames(), _modules()
    walk.shut(running)
    walk.shut(module.module for module in modules)
    walk.shut(module.names for module in modules)
    for root in (*_of_errors(), *_of_modules(modules, (USER,)), *_of_frames(running, modules)):
        walk.add(root.value, root.link, root.rank)
    walk.add_later(lambda: ((root.value, root.link) for root in _of_modules(modules, (LIBRARY,))), LIBRARY)


def every() -> Iterator[Root]:
    """All roots, those of add_all."""
    modules = _modules()
    yield from _of_errors()
    yield from _of_modules(modules, (USER, LIBRARY))
    yield from _of_frames(_running_frames(), modules)


def _of_modules(modules: list[Module], ranks: Container[int]) -> Iterator[Root]:
    """The globals of modules of some ranks, the first of modules first."""
    for module in modules:
        rank = _rank(module)
        if rank not in ranks or _is_own(module.name):
            continue
        again = "Out" in module.names
        for variable, value in list(module.names.items()):
            later = again and type(variable) is str and _AGAIN.fullmatch(variable)
            yield Root(value, Link(None, Step("global", str(variable), where=module.name)), OPTIMIZER if later else rank)


def _rank(module: Module) -> int:
    if module.name == "__main__":
        return USER
    file = module.names.get("__file__")
    return USER if type(file) is str and origin.is_users(file) else LIBRARY


def _is_own(name: str) -> bool:
    own = __package__ or ""
    return name == own or name.startswith(own + ".")


def _modules() -> list[Module]:
    """Every module that is imported, __main__ first. What is no module stands in sys.modules as an object of its own."""
    found: dict[int, Module] = {}
    for name, module in [("__main__", sys.modules.get("__main__")), *list(sys.modules.items())]:
        if kinds.is_a(module, types.ModuleType):
            names = edges.instance_dict(module)
            found.setdefault(id(names), Module(str(name), module, names))  # a module may have further names
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


def _of_frames(running: list[types.FrameType], modules: list[Module]) -> Iterator[Root]:
    """The local variables of frames, and the globals of those whose globals are no module's."""
    known = {id(module.names) for module in modules}
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
            stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
            gathered = code.co_varnames[named:named + stars]
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
