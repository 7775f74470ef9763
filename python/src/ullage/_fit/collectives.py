"""Collectives of torch.distributed with nobody at the other end: what each allocates, and what it leaves in small tensors.

All ranks are taken to be alike: what this one sends is what every other one would. So a value that is known here (a length, a
flag, a shape) is known after a collective too: a sum is as many times as large, a gathered list has it once for each rank. What
a rank receives from one other rank is not known.

Which memory a call takes is as in ProcessGroupNCCL: a call with one tensor for each end takes none; lists of tensors (all_gather,
reduce_scatter) go through one buffer that holds the whole list; a barrier has a tensor of one element. What an asynchronous call was
given stays alive until its wait().
"""
from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
import torch.distributed
from torch._subclasses.fake_tensor import FakeTensor

from .rules import RULES, Rule, Tensors, is_on_gpu, reduced

if TYPE_CHECKING:
    from .mode import TraceMode

_REDUCTIONS = ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced")
_COPYING = {"_c10d_functional::all_reduce", "_c10d_functional::broadcast"}  # that reduce a copy of what they are given
_HELD = 64  # asynchronous calls whose tensors are held at once: NCCL's watchdog lets go of what nobody waits for


dist: Any = torch.distributed
native: Any = torch._C._distributed_c10d


class HeldWork(dist._Work):  # type: ignore[misc]
    """The handle of an asynchronous call: done already, and holding the call's tensors until somebody waits for it."""

    def __init__(self, calls: "Collectives", tensors: Tensors, result: Tensors) -> None:
        super().__init__()
        self._calls, self._tensors, self._result = calls, tensors, result

    def wait(self, timeout: Any = None) -> bool:
        self._tensors = []
        self._calls.let_go(self)
        return True

    def is_completed(self) -> bool:
        return True

    def is_success(self) -> bool:
        return True

    def exception(self) -> Any:
        return None

    def synchronize(self) -> None:
        self.wait()

    def result(self) -> Tensors:
        return self._result

    def get_future(self) -> Any:
        """A future that is done. Nobody waits for the handle then, so that NCCL lets go of its tensors at the next call."""
        future: Any = torch.futures.Future()
        future.set_result(self._result)
        self._calls.unclaimed.append(self._tensors)
        self.wait()
        return future


class Collectives:
    """Answers the operators of torch.distributed for one mode."""

    def __init__(self, mode: "TraceMode") -> None:
        self.mode = mode
        self._held: list[HeldWork] = []
        self.unclaimed: list[Tensors] = []  # of calls of which only the future was taken
        self._connected: dict[str, int] = {}  # number of each group's communicator
        self._ways: set[tuple[int, str]] = set()  # by which they have talked
        self._here = threading.local()
        self._pending: dict[int, Any] = {}  # inputs of functional collectives, by the output's storage

    def answers(self) -> dict[Any, Callable[..., Any]]:
        """The operators that are answered here."""
        ops, found = torch.ops.c10d, {}
        for name, rule in RULES.items():
            if hasattr(ops, name):
                found[getattr(ops, name).default] = self._with(rule)
        found[torch.ops._c10d_functional.wait_tensor.default] = self._wait_tensor
        for name in ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single", "broadcast"):
            found[getattr(torch.ops._c10d_functional, name).default] = self._functional
        return found

    def _with(self, rule: "Rule") -> Callable[..., Any]:
        def run(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            group = _group_of(args)
            self.unclaimed.clear()  # NCCL's watchdog has found them done, and the next call lets go of them
            outputs, inputs = _tensors_of(args, rule.inputs)
            with self.mode:
                temporary = rule.temporary(outputs, inputs, group)
            if any(is_on_gpu(t) for t in outputs + inputs):
                self._talk(group, *_ways_of(func, outputs, inputs))
                self.mode.note_call(func, args, kwargs)
            rule.values(self, outputs, inputs, args, group)
            del temporary
            work = self._work(rule, func, args, kwargs, outputs, inputs)
            return _returns(func, args, work)

        return run

    # --- kinds of reduction

    def operation(self) -> str:
        """The reduction that this thread has called for last, as "SUM"."""
        return str(getattr(self._here, "operation", "SUM"))

    def learn_operations(self) -> None:
        """Has calls of a process group tell their kind of reduction: the operators get an object that does not show it."""
        for name in _REDUCTIONS:
            if hasattr(dist.ProcessGroup, name):
                setattr(dist.ProcessGroup, name, self._telling(getattr(dist.ProcessGroup, name)))

    def _telling(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def method(group: Any, *args: Any, **kwargs: Any) -> Any:
            for a in (*args, *kwargs.values()):
                found = getattr(a, "reduceOp", a if isinstance(a, (dist.ReduceOp, dist.ReduceOp.RedOpType)) else None)
                if found is not None:
                    self._here.operation = str(getattr(found, "op", found)).split(".")[-1]
            try:
                return call(group, *args, **kwargs)
            finally:
                self._here.operation = "SUM"

        return method

    # --- handles

    def _work(self, rule: "Rule", func: Any, args: Any, kwargs: Any, outputs: Tensors, inputs: Tensors) -> Any:
        if not _is_async(func, args, kwargs):
            return _FakeWork()
        work = HeldWork(self, outputs + inputs, outputs)
        self._held.append(work)
        if len(self._held) > _HELD:
            self._held.pop(0)._tensors = []
        return work

    def let_go(self, work: HeldWork) -> None:
        """Forgets a handle that was waited for."""
        if work in self._held:
            self._held.remove(work)

    # --- functional collectives: their own rules for shapes make the outputs

    def _functional(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self._talk(_resolve(args[-1]), *_ways_of(func, [], []))
        out = self.mode.run(func, types, args, kwargs)
        if isinstance(out, FakeTensor):
            if func._schema.name not in _COPYING:
                self._hold(out, args[0])
            self._functional_value(func, args, out)
        return out

    def _hold(self, out: torch.Tensor, given: Any) -> None:
        """Holds what a call was given until somebody waits for its result, or it is gone."""
        storage = out.untyped_storage()
        key = storage._cdata
        self._pending[key] = given, weakref.ref(storage, lambda _: self._pending.pop(key, None))

    def _functional_value(self, func: Any, args: Any, out: FakeTensor) -> None:
        known = self.mode.known.of(args[0])
        if known is None:
            return
        size = _resolve(args[-1]).size()
        name = func._schema.name.split("::")[1]
        if name == "all_reduce":
            self.mode.known.remember(out, reduced(known, args[1].upper(), size))
        elif name == "broadcast":
            self.mode.known.remember(out, known)
        elif name == "all_gather_into_tensor":
            self.mode.known.remember(out, torch.cat([known] * size))

    def _wait_tensor(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        t = args[0]
        if isinstance(t, FakeTensor):
            self._pending.pop(t.untyped_storage()._cdata, None)
        return t

    # --- communicators

    def connect(self, group: Any) -> int:
        """Notes that NCCL makes a group's communicator: at its first call on the GPU, or before where it is bound to a device."""
        name = str(group.group_name)
        if name not in self._connected:
            self._connected[name] = len(self._connected)
            self.mode.trace.line("comm", id=self._connected[name], ranks=group.size(), name=group.group_desc or None)
        return self._connected[name]

    def _talk(self, group: Any, *ways: str) -> None:
        """Notes the first call of each kind of a group: NCCL then takes the buffers of its rings, or of messages from rank to rank."""
        communicator = self.connect(group)
        for how in ways:
            if (communicator, how) not in self._ways:
                self._ways.add((communicator, how))
                self.mode.trace.line("talk", id=communicator, how=how)

    # --- values

    def give(self, to: torch.Tensor, value: Optional[torch.Tensor]) -> None:
        """Has a tensor that a call writes to hold value, or nothing known."""
        if not isinstance(to, FakeTensor):
            if value is not None and to.device.type == "cpu":
                to.copy_(value.reshape(to.shape))
            return
        if value is None:
            self.mode.known.forget(to)
            return
        base = self.mode.known.of(to)
        if base is not None and base.shape == to.shape:
            base.copy_(value.reshape(base.shape))
        else:
            self.mode.known.remember(to, value.reshape(to.shape))

    def of(self, t: torch.Tensor) -> Optional[torch.Tensor]:
        """What a tensor holds, as one of the CPU, or None where that is not known."""
        return self.mode.known.of(t)


def _ways_of(func: Any, outputs: Tensors, inputs: Tensors) -> tuple[str, ...]:
    """How NCCL carries a call out: in rings (or trees) of all ranks, or by messages that this rank sends or receives."""
    name = func._schema.name.split("::")[1].rstrip("_")
    if name.startswith(("alltoall", "all_to_all")):
        return "send", "receive"
    if name == "send" or (name == "scatter" and inputs) or (name == "gather" and not outputs):
        return ("send",)
    if name in ("recv", "recv_any_source", "scatter", "gather"):
        return ("receive",)
    return ("rings",)


def _flattened(value: Any) -> Tensors:
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _flattened(v)] if isinstance(value, (list, tuple)) else []


def _tensors_of(args: Any, inputs: Optional[int]) -> tuple[Tensors, Tensors]:
    """Outputs, which come first, and inputs."""
    if inputs == 0:
        return [], _flattened(args[0])
    return _flattened(args[0]), _flattened(args[inputs]) if inputs is not None else []


def _group_of(args: Any) -> Any:
    for a in args:
        if isinstance(a, torch.ScriptObject) and "ProcessGroup" in str(a):
            return dist.ProcessGroup.unbox(a)
    raise TypeError("a collective without a process group")


def _resolve(name: str) -> Any:
    return native._resolve_process_group(name)


def _is_async(func: Any, args: Any, kwargs: Any) -> bool:
    for i, argument in enumerate(func._schema.arguments):
        if argument.name == "async_op":
            return bool(args[i]) if i < len(args) else bool(kwargs.get("async_op", argument.default_value))
    return func._schema.name in ("c10d::send", "c10d::recv_", "c10d::recv_any_source_")


def _returns(func: Any, args: Any, work: Any) -> Any:
    """What the operator's schema has it return: its outputs and a handle, a handle alone, or nothing."""
    count = len(func._schema.returns)
    return (args[0], work.boxed()) if count == 2 else work.boxed() if count == 1 else None


def _FakeWork() -> Any:
    return native.FakeWork()
