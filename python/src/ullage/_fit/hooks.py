"""Makes autograd run on a GPU that is not there.

Autograd asks torch's hooks for CUDA whether a context exists, so as to remember that device's stream. Without a GPU a build with CUDA
answers with an error ("hasPrimaryContext expects a valid device index"), and a build without it says that there is no accelerator
at all. Both are answered here by two entries of the hooks' table of virtual functions: the object gets a copy of its table in
which isBuilt returns true and hasPrimaryContext false. Where these entries stand is read from the header that every build of torch
ships. Everything else about streams goes to the guard that does nothing, which torch itself puts in place for fake tensors
(pytorch#163187).
"""
from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys

import torch

from .config import Problem

_GETTER = "_ZN2at6detail12getCUDAHooksEv"  # at::detail::getCUDAHooks()
_HEADER = os.path.join("include", "ATen", "detail", "AcceleratorHooksInterface.h")
_ORDER = ["~", "isBuilt", "isAvailable", "hasPrimaryContext"]  # of torch 2.6 to 2.15, for builds without headers
_ENTRIES = 96  # copied of the table; it has about 60
_BEFORE = 2  # entries before the first function: offset to the top, and the type

_keep: list[object] = []  # what C++ refers to from now on


def answer_for_absent_device() -> None:
    """Changes torch's hooks for CUDA as said above.

    Raises Problem on a build of torch in which they are not found.
    """
    hooks = _hooks()
    answers = {"isBuilt": True, "hasPrimaryContext": False}
    order = _virtual_functions()
    table = ctypes.c_void_p.from_address(hooks).value
    if table is None or not all(name in order for name in answers):
        raise _unknown_build()
    row = ctypes.c_void_p * (_ENTRIES + _BEFORE)
    width = ctypes.sizeof(ctypes.c_void_p)
    changed = row.from_buffer_copy(row.from_address(table - _BEFORE * width))
    for name, value in answers.items():
        function = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)(lambda _this, value=value: value)
        # A destructor takes two entries in the ABI of Linux and macOS, and stands first.
        changed[_BEFORE + 1 + order.index(name)] = ctypes.cast(function, ctypes.c_void_p).value
        _keep.append(function)
    _keep.append(changed)
    pointer = ctypes.c_void_p.from_address(hooks)
    pointer.value = ctypes.addressof(changed) + _BEFORE * width
    atexit.register(setattr, pointer, "value", table)  # C++ may ask again after Python has gone


def _hooks() -> int:
    if sys.platform == "win32":
        raise Problem("wheel", "torch for Windows keeps the tables that are needed out of reach", "run ullage fit under WSL, or on Linux or macOS")
    suffix = ".dylib" if sys.platform == "darwin" else ".so"
    try:
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu" + suffix))
        getter = getattr(library, _GETTER)
    except (OSError, AttributeError) as e:
        raise _unknown_build() from e
    getter.restype, getter.argtypes = ctypes.c_void_p, []
    address = getter()
    if not address:
        raise _unknown_build()
    return int(address)


def _virtual_functions() -> list[str]:
    """The names of the interface's virtual functions in the order of their declaration, the destructor as "~"."""
    try:
        with open(os.path.join(os.path.dirname(torch.__file__), _HEADER), encoding="utf-8") as f:
            text = re.sub(r"//[^\n]*", "", f.read())
    except OSError:
        return _ORDER
    return ["~" if name.startswith("~") else name for name in re.findall(r"\bvirtual\s+[^;{(]*?(~?\w+)\s*\(", text)]


def _unknown_build() -> Problem:
    return Problem("wheel", f"this build of torch {torch.__version__} does not show its hooks for CUDA", "use a build of torch from PyPI")
