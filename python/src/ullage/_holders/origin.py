"""Tells the user's own code from libraries, by where its file lies."""
from __future__ import annotations

import os
import sysconfig
from functools import lru_cache

OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARY_PARTS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_GENERATED = ("<frozen", "<eval_with_key>", "<__array_function__")


@lru_cache(maxsize=1)
def _standard_library() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(os.path.realpath(paths[k]) + os.sep for k in ("stdlib", "platstdlib") if paths.get(k))


@lru_cache(maxsize=16384)
def is_users(filename: str) -> bool:
    """Whether code of this file is the user's: neither the standard library's, nor an installed package's, nor our own.

    Code without a file (a notebook's cell, `python -c`) is the user's, unless Python or torch generated it.
    """
    if filename.startswith("<"):
        return not filename.startswith(_GENERATED)
    if is_own(filename) or any(part in filename for part in _LIBRARY_PARTS):
        return False
    return not os.path.realpath(filename).startswith(_standard_library())


@lru_cache(maxsize=16384)
def is_own(filename: str) -> bool:
    """Whether code of this file belongs to this package."""
    return os.path.abspath(filename).startswith(OWN)
