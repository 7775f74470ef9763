"""Which pools a thread is in, innermost last, and where its allocations go.

A device's allocations of a thread go to one pool at a time: what is entered within another takes over, and hands back when it
is left. torch.cuda.use_mem_pool() alone ignores the inner one before torch 2.10 (pytorch#161193) and refuses a pool twice.

Autograd runs a backward pass on a thread of its own for each device, which isn't in the pool. Within one, the thread's autograd
is told to run in the thread that calls backward().
"""
from __future__ import annotations

import threading
from typing import Any, Optional


class _Thread(threading.local):
    def __init__(self) -> None:
        self.pools: list[Any] = []
        self.autograd: Any = None  # what puts the thread's autograd back to what it was


_thread = _Thread()


def enter(pool: Any) -> None:
    """Sends this thread's allocations on the pool's device to it."""
    import torch

    outer = _innermost(pool.device_index)
    _switch(outer, pool)
    if not _thread.pools:
        _thread.autograd = torch.autograd.set_multithreading_enabled(False)
    _thread.pools.append(pool)


def leave(pool: Any) -> None:
    """Takes back what enter did. Raises RuntimeError in a thread that isn't in the pool."""
    if pool not in _thread.pools:
        raise RuntimeError(f"{pool} was entered in another thread than it is left in")
    before = _innermost(pool.device_index)
    del _thread.pools[len(_thread.pools) - 1 - _thread.pools[::-1].index(pool)]
    if not _thread.pools:
        _thread.autograd.__exit__(None, None, None)
    _switch(before, _innermost(pool.device_index))


def entered(pool: Any) -> bool:
    return pool in _thread.pools


def _innermost(device_index: int) -> Optional[Any]:
    return next((p for p in reversed(_thread.pools) if p.device_index == device_index), None)


def _switch(before: Optional[Any], after: Optional[Any]) -> None:
    if before is after:
        return
    if before is not None:
        before._unroute()
    if after is None:
        return
    try:
        after._route()
    except BaseException:
        if before is not None:
            before._route()
        raise
