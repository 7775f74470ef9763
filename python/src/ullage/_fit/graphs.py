"""CUDA graphs: the calls that would be captured are made once, as they are, and a replay makes none.

A graph takes its memory from a pool of its own. Here it comes from blocks of the stream that captures, which are apart from those of
other streams just so.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
import torch.optim.optimizer as base

from .trace import Trace, caller


class CUDAGraph:
    """In place of torch.cuda.CUDAGraph."""

    trace: Trace
    capturing: Optional["CUDAGraph"] = None

    def __init__(self, *_: Any, **__: Any) -> None:
        self._pool: Any = None
        self._optimizers: list[Any] = []

    def capture_begin(self, pool: Any = None, **_: Any) -> None:
        """The calls from here on belong to the graph."""
        self._pool = pool if pool is not None else pool_handle()
        stack = self.trace.stack(caller())
        self.trace.note("graph", "calls of a CUDA graph were made once, and not captured", None if stack < 0 else stack)
        CUDAGraph.capturing = self

    def capture_end(self) -> None:
        """Ends what capture_begin began."""
        CUDAGraph.capturing = None

    def capture_end_pre(self) -> None:
        """The first half of capture_end, where torch has it in two."""
        self.capture_end()

    def capture_end_post(self) -> None:
        """The second half."""

    def replay(self) -> None:
        """Counts the steps of optimizers that the graph has."""
        for optimizer in self._optimizers:
            for hook in list(base._global_optimizer_post_hooks.values()):
                hook(optimizer, (), {})

    def pool(self) -> Any:
        """The pool that the graph takes its memory from."""
        return self._pool

    def reset(self) -> None:
        """Nothing is kept."""

    def instantiate(self) -> None:
        """Nothing is to be made ready."""

    def enable_debug_mode(self) -> None:
        """There is nothing to look at."""

    def debug_dump(self, debug_path: str) -> None:
        """There is nothing to write."""


_pools = 0


def pool_handle() -> tuple[int, int]:
    """As torch.cuda.graph_pool_handle."""
    global _pools
    _pools += 1
    return 0, _pools


def install(trace: Trace) -> None:
    """Puts the class in torch.cuda."""
    CUDAGraph.trace = trace
    cuda: Any = torch.cuda
    cuda.CUDAGraph = cuda.graphs.CUDAGraph = CUDAGraph
    cuda.graph_pool_handle = cuda.graphs.graph_pool_handle = pool_handle

    def captured(optimizer: Any, args: Any, kwargs: Any) -> None:
        if CUDAGraph.capturing is not None:
            CUDAGraph.capturing._optimizers.append(optimizer)

    base.register_optimizer_step_post_hook(captured)
