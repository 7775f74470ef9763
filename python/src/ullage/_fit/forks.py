"""Processes that a program forks: one that has its parent's tracer goes on with it, as long as the parent has not used CUDA.

With CUDA in use, a child that was forked cannot use it (torch says so in _lazy_init), and has no part in the trace.
"""
from __future__ import annotations

import os
from typing import Any

import torch

from .storages import Storages
from .trace import Trace

_BAD_FORK = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"


def install(trace: Trace, storages: Storages) -> None:
    """Looks at every fork."""

    def in_child() -> None:
        if storages.count == 0:
            trace.begin_in_child()
        else:
            leave()

    os.register_at_fork(before=trace.before_fork, after_in_child=in_child)


def leave() -> None:
    """Leaves the mode in a child: CUDA is not there for it."""
    torch._C._unset_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
    cuda: Any = torch.cuda
    cuda._lazy_init = cuda.init = _refuse
    cuda._is_in_bad_fork = lambda: True


def _refuse() -> None:
    raise RuntimeError(_BAD_FORK)
