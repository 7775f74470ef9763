"""Local variables and places of frames, running or suspended."""
from __future__ import annotations

import inspect
import os
import sys
import types
from typing import Any

_PROXIED = sys.version_info >= (3, 13)  # a frame's f_locals shows the variables themselves and copies nothing


def variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The local variables of a frame with their values, in the order of the code.

    Until Python 3.12 a function's f_locals is a copy that the frame keeps, and that holds what the variables held until it is
    made anew: a tensor that the program drops would live on. It is emptied, unless the program itself has it by locals().
    """
    shown = frame.f_locals
    items = list(shown.items())
    copied = not _PROXIED and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if copied and sys.getrefcount(shown) <= 3:  # the frame's, ours, and the call's
        shown.clear()
    return items


def where(frame: types.FrameType) -> str:
    """Function, file and line at which a frame is: "evaluate() at eval.py:40"."""
    return _place(frame.f_code, frame.f_lineno)


def where_defined(function: types.FunctionType) -> str:
    """A function's name; for one without, and for one within another, with the line where it begins."""
    code = function.__code__
    short = function.__qualname__.rpartition("<locals>.")[2]
    return f"{short} at {_file(code)}:{code.co_firstlineno}" if short.startswith("<") else f"{short}()"


def _place(code: types.CodeType, line: Any) -> str:
    qualified = str(getattr(code, "co_qualname", code.co_name)).rpartition("<locals>.")[2]
    call = qualified if qualified.startswith("<") else f"{qualified}()"
    return f"{call} at {_file(code)}:{line or code.co_firstlineno}"


def _file(code: types.CodeType) -> str:
    return os.path.basename(code.co_filename)
