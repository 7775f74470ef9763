"""A recording for as long as somebody measures. One that is on already, from `ullage run` or the program, is used as it is."""
from __future__ import annotations

import threading
from typing import Any, Optional

from .._torch import api, memory

ENTRIES = 200_000  # events that are kept of each device: some 1 KiB each in main memory, and as many as `ullage run` keeps

_lock = threading.Lock()
_users = 0  # blocks that are being measured with sites
_ours = False  # whether the recording that is on was switched on here


def begin(torch: Any, entries: int = ENTRIES) -> Optional[str]:
    """Sees to it that memory is recorded, until as many calls of end() as of this. Returns why it is not, or None.

    Before CUDA is used there is nothing to record: it then begins with the first use, if that comes before the end.
    """
    global _users
    with _lock:
        _users += 1
        if memory.in_use():
            return _switch_on(torch, entries)
    api.on_first_use(torch, lambda: _late(torch, entries))
    return None


def _late(torch: Any, entries: int) -> None:
    with _lock:
        if _users:
            _switch_on(torch, entries, initializing=True)


def _switch_on(torch: Any, entries: int, initializing: bool = False) -> Optional[str]:
    global _ours
    if api.recording(torch, initializing):
        return None
    try:
        problem = api.record(torch, entries)
    except RuntimeError as e:
        problem = str(e).splitlines()[0]
    if problem is None:
        _ours = True
    return problem


def end(torch: Any) -> None:
    """The other end of begin(). The last one switches off what the first switched on."""
    global _users, _ours
    with _lock:
        _users -= 1
        if _users or not _ours:
            return
        _ours = False
        if api.recording(torch):
            api.stop_recording(torch)
