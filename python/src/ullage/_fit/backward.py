"""Where torch treats fakes unlike tensors: it adds out of place what it would have added in place, because they are of a subclass.

With ordinary tensors the engine adds a second gradient into the first one's memory when nobody else holds that (accumulate in
torch/csrc/autograd/input_buffer.cpp), and some derivatives write into the zeros that they have just made (index_backward and
others, where areAnyTensorSubclassLike is false). With fakes a new tensor is made instead. The memory of the first then counts as
taken over by the new one.

The same goes for the bias of a linear layer whose input is not contiguous: it is added into the product's memory (linear in
aten/src/ATen/native/Linear.cpp), by the same call from Python as the product itself.
"""
from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Optional

import torch

from .storages import Storages
from .trace import Trace

_run_backward = torch.autograd.backward  # before anybody counts its calls
aten = torch.ops.aten
_OUT_OF_PLACE = {
    aten.add.Tensor,
    aten.index_put.default,
    aten.scatter_add.default,
    aten.scatter.src,
    aten.scatter.value,
    aten.index_add.default,
    aten.masked_fill.Scalar,
    aten.masked_scatter.default,
}


class Reuse:
    """Tells which results would have been written into the memory of the operator's first argument."""

    def __init__(self, storages: Storages, trace: Trace) -> None:
        self.storages, self.trace = storages, trace
        self.alone: Optional[int] = None  # what _holders counts of a gradient that only the engine holds
        self.product: Optional[tuple[int, int]] = None  # the frame and the instruction that called for the last product

    def calibrate(self, mode: Any) -> None:
        """Counts the holders of a gradient that only the engine holds, as the mode sees it.

        In this thread, as what autograd's own are in the middle of is the program's.
        """
        with mode, torch.autograd.set_multithreading_enabled(False):
            x = torch.ones(64, device="cuda", requires_grad=True)
            _run_backward((x.exp() + x.sin()).mul(x.detach()).sum())

    def takes_over(self, func: Any, args: Any, storage: Any) -> bool:
        """Gives the memory of args[0] to storage if a real run would have used it again."""
        if func not in _OUT_OF_PLACE or not isinstance(args[0], torch.Tensor):
            return False
        first = args[0].untyped_storage()
        old = self.storages.find(first)
        if old is None or old.size_bytes != storage.nbytes():
            return False
        if torch._C._current_graph_task_id() >= 0 and not torch.is_grad_enabled():
            reused = self._called_by_engine() and self._is_alone(args[0], first)
        else:
            reused = self._adds_bias(func, args)
        if reused:
            self.storages.take_over(old, storage)
        return reused

    def _is_alone(self, t: torch.Tensor, storage: Any) -> bool:
        """Whether only the engine holds a gradient."""
        holders = self._holders(t, storage)
        if self.alone is None:
            self.alone = holders
        return holders <= self.alone

    def _called_by_engine(self) -> bool:
        """Whether no Python code stands between the engine and the tracer."""
        frame = self._caller()
        return frame is None or frame.f_code.co_name == "_engine_run_backward"

    def _adds_bias(self, func: Any, args: Any) -> bool:
        """Whether this adds a vector to the product that the same call from Python has made."""
        if func is not aten.add.Tensor or not isinstance(args[1], torch.Tensor) or args[1].dim() != 1:
            return False
        frame = self._caller()
        return frame is not None and self.product == (id(frame), frame.f_lasti)

    def remember_product(self) -> None:
        """Notes which call from Python has just made a matrix product."""
        frame = self._caller()
        self.product = None if frame is None else (id(frame), frame.f_lasti)

    def _caller(self) -> Optional[FrameType]:
        frame: Optional[FrameType] = sys._getframe(1)
        while frame is not None and self.trace.is_own(frame.f_code):
            frame = frame.f_back
        return frame

    def _holders(self, t: torch.Tensor, storage: Any) -> int:
        """Counts who holds a tensor, its Python object and its storage. Only the difference to `alone` means something."""
        count = getattr(t, "_use_count", None)
        return (0 if count is None else int(count())) + sys.getrefcount(t) + int(torch._C._storage_Use_Count(storage._cdata))
