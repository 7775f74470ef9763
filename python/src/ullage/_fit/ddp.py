"""DistributedDataParallel on a GPU that is not there.

Its reducer is C++, and does all that it does to memory by ordinary operators. Two things stand in its way. It times itself with
events of CUDA's runtime, which in a build of torch with CUDA fail without a driver: it chooses its timer by the device of the first
parameter, when it is made, and at that moment is told the CPU, so that it times with the host's clock. And it waits for a future that
only a backend in C++ can make, so the reduction is done by a hook in Python, which takes no other memory than the built-in one.
"""
from __future__ import annotations

from typing import Any, Callable

import torch
import torch.distributed
from torch.utils._python_dispatch import TorchDispatchMode

from .trace import Trace

dist: Any = torch.distributed
_device_of = torch.ops.prim.device.default
_CHOICE = 2  # of the questions for the first parameter's device: the first counts the devices of the module


class _TimedByHost(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Answers the question by which the reducer chooses its timer."""

    def __init__(self, param: torch.Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._param, self._asked = param, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _device_of and args[0] is self._param:
            self._asked += 1
            if self._asked == _CHOICE:
                return torch.device("cpu")
        return func(*args, **(kwargs or {}))


def install(trace: Trace) -> None:
    """Has every reducer be made so."""
    native = dist.Reducer
    register = dist._register_comm_hook

    class Reducer(native):  # type: ignore[misc,valid-type]
        """torch.distributed.Reducer."""

        def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
            with _TimedByHost(params[0]):
                super().__init__(params, *args, **kwargs)
            group = next(a for a in (*args, *kwargs.values()) if isinstance(a, dist.ProcessGroup))
            self.state: Any = group
            self.hook: Callable[[Any, Any], Any] = _all_reduce
            self.first: dict[int, torch.Tensor] = {}  # the buckets of the first step
            self.rebuilt = False
            register(self, None, self._reduce)

        def _reduce(self, _: Any, bucket: Any) -> Any:
            if not self.rebuilt:
                self.first[bucket.index()] = bucket.buffer()
            return self.hook(self.state, bucket)

        def _rebuild_buckets(self) -> bool:
            """As torch's, which drops the buckets of the first step at the beginning of the second.

            NCCL holds them until its watchdog, which looks every 100 ms, has found them reduced, and one more call comes after that:
            of four ranks that were recorded, three had them for the whole of the second step, so they are kept that long.
            """
            self.first = {} if self.rebuilt else self.first
            rebuilt = bool(super()._rebuild_buckets())
            if rebuilt:
                self.rebuilt = True
                trace.line("held", n=sum(b.nbytes for b in self.first.values()))
            return rebuilt

    def register_comm_hook(reducer: Any, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        reducer.state, reducer.hook = state, hook

    def register_builtin_comm_hook(reducer: Any, kind: Any) -> None:
        if "FP16" in str(kind):
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

            reducer.hook = default_hooks.fp16_compress_hook

    dist.Reducer = Reducer
    dist._register_comm_hook = register_comm_hook
    dist._register_builtin_comm_hook = register_builtin_comm_hook


def _all_reduce(group: Any, bucket: Any) -> Any:
    """Reduces a bucket where it is."""
    buffer = bucket.buffer()
    group.allreduce([buffer]).get_future()
    future: Any = torch.futures.Future()
    future.set_result(buffer)
    return future
