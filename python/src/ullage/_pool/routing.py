"""Which pools a thread is in, innermost last, and where its allocations go.

A device's allocations of a thread go to one pool at a time: what is entered within another takes over, and hands back when it
is left. torch.cuda.use_mem_pool() alone ignores the inner one before torch 2.10 (pytorch#161193) and refuses a pool twice.

Autograd runs a backward pass on a thread of its own for each device, which isn't in the pool. Within one, the thread's autograd
is told to run in the thread that calls backward().

PyTorch ends the process (an assertion in a destructor, pytorch#159301) when a pool is given up while any thread is in another one.
So a pool is given up when no thread is in any: what wants in waits meanwhile.
"""
from __future__ import annotations

import threading
from typing import Any, Optional


class _Thread(threading.local):
    def __init__(self) -> None:
        self.pools: list[Any] = []
        self.autograd: Any = None  # what puts the thread's autograd back to what it was


_thread = _Thread()


class Gate:
    """Lets threads into pools, or one thread give a pool up."""

    def __init__(self) -> None:
        self._changed = threading.Condition()  # of a lock that can be taken twice: collecting garbage can call abandon() anywhere
        self._inside = 0
        self._closing = False
        self._abandoned: list[Any] = []

    def enter(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._closing)
            self._inside += 1

    def leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._sweep()
            self._changed.notify_all()

    def close(self) -> None:
        """Returns when no thread is in a pool. None gets in until open()."""
        with self._changed:
            self._changed.wait_for(lambda: not self._closing)
            self._closing = True
            self._changed.wait_for(lambda: self._inside == 0)

    def open(self) -> None:
        with self._changed:
            self._closing = False
            self._changed.notify_all()

    def abandon(self, mempool: Any) -> None:
        """Gives it up as soon as no thread is in a pool, without waiting for that."""
        with self._changed:
            self._abandoned.append(mempool)
            del mempool
            self._sweep()

    def _sweep(self) -> None:
        if self._inside == 0:
            self._abandoned.clear()


gate = Gate()


def enter(pool: Any) -> None:
    """Waits for the pool's turn, and sends this thread's allocations on its device to it."""
    import torch

    first = not _thread.pools
    if first:
        gate.enter()
    try:
        pool._turn.acquire()
        try:
            pool._check_open()
            _switch(_innermost(pool.device_index), pool)
        except BaseException:
            pool._turn.release()
            raise
    except BaseException:
        if first:
            gate.leave()
        raise
    if first:
        _thread.autograd = torch.autograd.set_multithreading_enabled(False)
    _thread.pools.append(pool)


def leave(pool: Any) -> None:
    """Takes back what enter did. Raises RuntimeError in a thread that isn't in the pool."""
    if pool not in _thread.pools:
        raise RuntimeError(f"{pool} was entered in another thread than it is left in")
    before = _innermost(pool.device_index)
    del _thread.pools[len(_thread.pools) - 1 - _thread.pools[::-1].index(pool)]
    _switch(before, _innermost(pool.device_index))
    pool._turn.release()
    if not _thread.pools:
        _thread.autograd.__exit__(None, None, None)
        gate.leave()


def times(pool: Any) -> int:
    """How often this thread has entered the pool and not yet left it."""
    return _thread.pools.count(pool)


def innermost() -> Optional[Any]:
    """The pool that this thread is in, or None."""
    return _thread.pools[-1] if _thread.pools else None


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
