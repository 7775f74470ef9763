"""Sees every operator that the program runs, and runs it on fakes where the GPU or a large tensor of the CPU has a part in it.

It is torch's own FakeTensorMode, in its own place beneath all other modes, with three differences: small tensors of the CPU are
real, so that a program can read its own numbers; what a program may read of the GPU is answered (`values`); and every call that
would run a kernel is written down with the storages that it made.
"""
from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Optional

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)

from . import signature, values
from .backward import Reuse
from .cuda import Card
from .faults import Unsupported
from .known import Known
from .plans import Plan, plan_of
from .storages import Storages
from .trace import Trace

REAL_BYTES = 1 << 20  # a tensor of the CPU that is larger, and whose values a factory would make, is fake

# The results that an operator takes memory for, in the order in which its kernel does, where that is not the order of the schema.
# Seeds of attention are on the CPU outside of CUDA graphs.
_TAKEN = {
    "aten.native_dropout.default": (1, 0),
    "aten._scaled_dot_product_efficient_attention.default": (0, 1),
    "aten._efficient_attention_forward.default": (0, 1),
    "aten._scaled_dot_product_cudnn_attention.default": (6, 7, 0, 1),
}

aten = torch.ops.aten
_device_of = torch.ops.prim.device.default
_H2D_OR_D2H = (aten._to_copy.default, aten.copy_.default)
_META = torch.device("meta")
_NO_DISPATCH = torch._C._disabled_torch_dispatch_impl


_base: Any = FakeTensorMode


class TraceMode(_base):  # type: ignore[misc]
    """The mode of one process; every thread of the program enters it."""

    def __init__(self, trace: Trace, storages: Storages, card: Card) -> None:
        super().__init__(allow_fallback_kernels=False, allow_non_fake_inputs=True)
        self.cache_enabled = False  # plans are this mode's cache
        self.trace, self.storages, self.card = trace, storages, card
        self.reuse = Reuse(storages, trace)
        self.known = Known(storages)
        self.reads: dict[int, int] = {}  # of values that nobody knows, by stack
        self.in_optimizer = False
        self.module: Callable[[], Optional[int]] = lambda: None
        self.before_op: Callable[[], None] = lambda: None
        self._here = _Here()
        self._threads: dict[int, int] = {threading.get_ident(): 0}
        self._kinds: dict[Any, _Kind] = {}
        self._plans: dict[Any, Optional[Plan]] = {}
        self.rules: dict[Any, Callable[..., Any]] = {}  # operators that something else runs: (func, types, args, kwargs)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled: each call would be wrapped for nothing

    @property
    def avoid_device_init(self) -> bool:
        """True: torch.tensor(..., device="cuda") then makes its tensor on the CPU first, as this mode can see."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _device_of:
            fake: FakeTensor = args[0]
            return _META if self.in_kernel_invocation else fake.fake_device
        kwargs = kwargs or {}
        rule = self.rules.get(func)
        if rule is not None:
            return rule(func, types, args, kwargs)
        if self._here.inside:  # a decomposition, which the real operator does within one kernel
            return super().__torch_dispatch__(func, types, args, kwargs)
        if any(_is_foreign(t) for t in types):
            return NotImplemented  # the subclass takes itself apart, and its parts come by here
        tensors: list[torch.Tensor] = []
        signature.tensors_in(args, tensors)
        if kwargs:
            signature.tensors_in(list(kwargs.values()), tensors)
        fakes = [t for t in tensors if isinstance(t, FakeTensor)]
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        if not fakes and not self._makes_fake(func, args, kwargs):
            return values.real(func, args, kwargs)
        answer = values.answer(self, func, args, kwargs, fakes)
        if answer is not values.NONE:
            return answer
        if self._kind(func).is_composite:  # under inference_mode, and within the dispatch of a subclass
            with self:
                return func.decompose(*args, **kwargs)
        return self._run(func, types, args, kwargs, tensors)

    def run(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Runs an operator on fakes and writes it down, for those who hold its rule."""
        tensors: list[torch.Tensor] = []
        signature.tensors_in(args, tensors)
        return self._run(func, types, args, kwargs, tensors)

    # --- what is fake

    def _makes_fake(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Whether an operator without fake arguments has a fake result: it is on the GPU, or large and made by a factory."""
        device = kwargs.get("device")
        if device is not None and device.type == "cuda":
            return True
        kind = self._kind(func)
        return kind.is_factory and (device is None or device.type == "cpu") and values.factory_bytes(func, args, kwargs) > REAL_BYTES

    def light(self, t: torch.Tensor) -> FakeTensor:
        """A fake of the form of a real tensor. Unlike torch's converter it leaves no weak reference at t, which must stay free to be swapped."""
        with torch._C._DisableTorchDispatch():
            meta = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
        return FakeTensor(self, meta, t.device)

    def _all_fake(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value if isinstance(value, FakeTensor) or type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout is not torch.strided else self.light(value)
        if isinstance(value, (list, tuple)):
            return type(value)([self._all_fake(v) for v in value])
        return value

    # --- running and noting

    def _run(self, func: Any, types: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> Any:
        device = kwargs.get("device")
        if device is not None and device.type == "cuda" and device.index is not None:
            self.card.require(device.index)
        elif device is not None and device.type == "cuda":
            kwargs = {**kwargs, "device": torch.device("cuda", self.card.current_device())}
        key = signature.key_of(func, args, kwargs)
        plan = self._plans.get(key)
        if plan is not None:
            result = plan.make(self, tensors)
        else:
            result = self._work_out(func, types, args, kwargs, tensors)
            if key not in self._plans:
                self._plans[key] = None if self._kind(func).resizes else plan_of(func, tensors, result)
        self._note(func, args, kwargs, result, key)
        return result

    def _work_out(self, func: Any, types: Any, args: Any, kwargs: Any, tensors: list[torch.Tensor]) -> Any:
        """Has torch find out what comes of a call of this form."""
        if tensors:
            args = [self._all_fake(a) for a in args]
            kwargs = {k: self._all_fake(v) for k, v in kwargs.items()}
        self._here.inside = True
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except (UnsupportedOperatorException, DataDependentOutputException, DynamicOutputShapeException, NotImplementedError) as e:
            return self._without_rule(func, args, e)
        finally:
            self._here.inside = False

    def _without_rule(self, func: Any, args: Any, why: Exception) -> Any:
        """What an operator gives for whose result torch has no rule: nothing, if it only writes into its arguments.

        Raises Unsupported for others.
        """
        schema = getattr(func, "_schema", None)
        size = values.SIZES.get(str(func))
        if size is not None:
            return size(self, *args)
        if schema is not None and schema.is_mutable and not schema.returns:
            return None
        if schema is not None and schema.is_mutable and len(schema.returns) == 1 and isinstance(args[0], torch.Tensor):
            return args[0]
        if isinstance(why, (DataDependentOutputException, DynamicOutputShapeException)):
            text = f"the shape of what {func} gives depends on values that only a GPU would have"
        else:
            text = f"{func} has no rule for the shape of its result; give it one with torch.library.register_fake"
        self.trace.note("unknown", text)
        raise Unsupported(text) from why

    def made(self, func: Any, args: Any, kwargs: Any, shape: list[int], dtype: torch.dtype, like: torch.Tensor) -> FakeTensor:
        """A new tensor as the result of a call whose shape values has found out; the call is written down."""
        result = self.form(shape, dtype, like)
        self._note(func, args, kwargs, result, signature.key_of(func, args, kwargs))
        return result

    def form(self, shape: list[int], dtype: torch.dtype, like: torch.Tensor) -> FakeTensor:
        """A new tensor of a shape on another's device, of which nothing is written down."""
        with torch._C._DisableTorchDispatch():
            meta = torch.empty(shape, dtype=dtype, device="meta")
        return FakeTensor(self, meta, like.device)

    def note_call(self, func: Any, args: Any, kwargs: Any) -> None:
        """Writes down a call that made nothing on the GPU."""
        self._line(func, args, kwargs, [], [], signature.key_of(func, args, kwargs))

    def _kind(self, func: Any) -> "_Kind":
        found = self._kinds.get(func)
        if found is None:
            found = self._kinds[func] = _Kind(func)
        return found

    def _note(self, func: Any, args: Any, kwargs: Any, result: Any, key: Any) -> None:
        """Writes the line of a call that has run, if it would have run on the GPU."""
        kind = self._kind(func)
        if kind.is_view:
            return
        outs: list[torch.Tensor] = []
        signature.tensors_in(result if kind.taken is None else [result[i] for i in kind.taken if i < len(result)], outs)
        new = [] if kind.is_inplace and not kind.resizes else self._births(func, args, outs)
        if new or self._on_gpu(args, outs):
            self._line(func, args, kwargs, outs, new, key)
        if kind.is_product:
            self.reuse.remember_product()
        if kind.is_inplace:
            self.known.after_write(func, args, kwargs, args[0])
        elif new:
            self.known.after(func, args, kwargs, result)
            if values.holds(func, args):
                result._ullage_holds = True

    def _line(self, func: Any, args: Any, kwargs: Any, outs: list[torch.Tensor], new: list[tuple[int, int, int]], key: Any) -> None:
        self.before_op()
        sig = self.trace.signature(key)
        if sig is None:
            sig = self.trace.add_signature(key, signature.describe(func, args, kwargs, outs))
        self.trace.add(f'{{"e":"op","sig":{sig}{self.where(sys._getframe(1))}{_new(new)}}}')

    def _births(self, func: Any, args: Any, outs: list[torch.Tensor]) -> list[tuple[int, int, int]]:
        """Follows the storages that outs have and nobody had before: (id, bytes, device) of each."""
        new = []
        storages = self.storages
        for t in outs:
            if not isinstance(t, FakeTensor) or t.fake_device.type != "cuda" or t.layout is not torch.strided:
                continue
            storage = t.untyped_storage()
            living = storages.find(storage)
            if living is not None:
                if living.size_bytes == storage.nbytes():
                    continue
                storages.forget(storage)
            elif self.reuse.takes_over(func, args, storage):
                continue
            born = storages.born(storage, t.fake_device.index)
            if born is not None:
                new.append((born.id, born.size_bytes, born.device))
        return new

    def _on_gpu(self, args: Any, outs: list[torch.Tensor]) -> bool:
        for t in outs:
            if isinstance(t, FakeTensor) and t.fake_device.type == "cuda":
                return True
        tensors: list[torch.Tensor] = []
        signature.tensors_in(args, tensors)
        return any(isinstance(t, FakeTensor) and t.fake_device.type == "cuda" for t in tensors)

    def where(self, frame: Any) -> str:
        """The keys of a line that say where in the program it is: stack, thread, phase, module and stream."""
        text = ""
        stack = self.trace.stack(frame)
        if stack >= 0:
            text = f',"k":{stack}'
        thread = self._threads.get(threading.get_ident())
        if thread is None:
            thread = self.enter_thread()
        if thread:
            text += f',"t":{thread}'
        module = self.module()
        if module is not None:
            text += f',"m":{module}'
        stream = self.card.current_stream_id()
        if stream:
            text += f',"s":{stream}'
        return f'{text},"p":"{self.phase()}"'

    def phase(self) -> str:
        """The phase of docs/formats/trace.md that this thread is in."""
        if torch._C._current_graph_task_id() >= 0:
            return "r" if torch.is_grad_enabled() else "b"
        return "o" if self.in_optimizer else "f"

    def enter_thread(self) -> int:
        """Gives this thread a number: 1 is autograd's."""
        ident = threading.get_ident()
        taken = self._threads.values()
        if torch._C._current_graph_task_id() >= 0 and 1 not in taken:
            number = 1
        else:
            number = max(1, *taken) + 1
        self._threads[ident] = number
        return number


def _is_foreign(cls: type) -> bool:
    """Whether a type of tensor has a dispatch of its own, as DTensor has."""
    return not issubclass(cls, FakeTensor) and getattr(cls, "__torch_dispatch__", None) is not _NO_DISPATCH


class _Here(threading.local):
    """What is going on in a thread."""

    inside = False  # within torch's own handling of an operator


def _is_composite(func: Any) -> bool:
    """Whether an operator is made of others on every device, as linear is of a product and a sum."""
    if not isinstance(func, torch._ops.OpOverload):
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    name = func._schema.name + (f".{func._schema.overload_name}" if func._schema.overload_name else "")
    return bool(has(name, "CompositeImplicitAutograd")) and not any(has(name, key) for key in ("CPU", "CUDA", "Meta"))


class _Kind:
    """What an operator's schema says of it."""

    __slots__ = ("is_composite", "is_factory", "is_inplace", "is_product", "is_view", "resizes", "taken")

    def __init__(self, func: Any) -> None:
        schema = getattr(func, "_schema", None)
        tags = getattr(func, "tags", ())
        name = str(func)
        self.is_factory = values.is_factory(func)
        self.is_inplace = schema is not None and getattr(schema, "is_mutable", False)
        self.resizes = "resize" in name or "set_" in name or ".out" in name or "_out" in name
        aliases = schema is not None and any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.is_product = name in ("aten.mm.default", "aten.bmm.default")
        self.taken = _TAKEN.get(name)
        self.is_composite = _is_composite(func)
        self.is_view = not self.is_inplace and (aliases or torch.Tag.inplace_view in tags)


def _new(born: list[tuple[int, int, int]]) -> str:
    if not born:
        return ""
    return ',"new":[' + ",".join(f"[{i},{n}]" if not d else f"[{i},{n},{d}]" for i, n, d in born) + "]"
