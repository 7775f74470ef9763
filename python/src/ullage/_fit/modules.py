"""Modules: converting them keeps the identity of their parameters, and calls of them give each operator a module's path."""
from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn import Module, Parameter
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .trace import Trace

_swap: Any = torch.utils.swap_tensors
_base_data: Any = torch._C.TensorBase.data


def become(t: torch.Tensor, new: torch.Tensor) -> bool:
    """Has t be what new is, as `t.data = new` does. False where that cannot be, and a new object must take t's place."""
    if isinstance(t, FakeTensor) == isinstance(new, FakeTensor) and not is_traceable_wrapper_subclass(new):
        _base_data.__set__(t, new)
        if isinstance(new, FakeTensor):
            setattr(t, "fake_device", new.fake_device)
        return True
    try:
        _swap(t, _alone(new, t) if isinstance(new, FakeTensor) else Parameter(new, t.requires_grad) if isinstance(t, Parameter) else new)
    except RuntimeError:  # somebody has a weak reference, or a graph holds it
        return False
    return True


def _alone(new: FakeTensor, like: torch.Tensor) -> torch.Tensor:
    """What new is, to take the place of like: an object that nobody has a reference to. FakeTensorMode keeps weak ones of its results."""
    with torch._C._DisableTorchDispatch():
        alone: torch.Tensor = FakeTensor(new.fake_mode, torch.Tensor.detach(new), new.fake_device)
    if isinstance(like, Parameter):
        alone._is_param = True
    return alone.requires_grad_(like.requires_grad)


def _get_data(self: torch.Tensor) -> Any:
    return _base_data.__get__(self)


def _set_data(self: torch.Tensor, new: torch.Tensor) -> None:
    if not become(self, new):
        _base_data.__set__(self, new)


def _apply(self: Module, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Module:
    """As Module._apply where tensors are ordinary: `param.data = fn(param)`, in the same order, so that memory comes and goes as there."""
    if recurse:
        for module in self.children():
            module._apply(fn)  # type: ignore[no-untyped-call]
    for key, param in self._parameters.items():
        if param is None:
            continue
        with torch.no_grad():
            applied = fn(param)
        grad = param.grad
        if applied is param:
            pass
        elif not become(param, applied):
            self._parameters[key] = Parameter(applied, param.requires_grad)
        del applied
        if grad is not None:
            with torch.no_grad():
                applied = fn(grad)
            if not become(grad, applied):
                self._parameters[key].grad = applied.requires_grad_(grad.requires_grad)  # type: ignore[union-attr]
            del applied
    for key, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[key] = fn(buffer)
    return self


class Paths:
    """Which module runs in each thread, by its path within the outermost one that was called."""

    def __init__(self, trace: Trace, called: Callable[[Module], None]) -> None:
        self.trace, self.called = trace, called
        self._here = threading.local()
        self._names: "weakref.WeakKeyDictionary[Module, dict[int, str]]" = weakref.WeakKeyDictionary()

    def install(self) -> None:
        """Has every call of a module pass by."""
        call: Any = Module._call_impl
        paths = self

        def _call_impl(self: Module, *args: Any, **kwargs: Any) -> Any:
            stack = paths._stack()
            stack.append(self)
            try:
                return call(self, *args, **kwargs)
            finally:
                stack.pop()
                if not stack:
                    paths.called(self)

        Module._call_impl = _call_impl  # type: ignore[method-assign]
        Module.__call__ = _call_impl  # type: ignore[method-assign]

    def _stack(self) -> list[Module]:
        stack: Optional[list[Module]] = getattr(self._here, "stack", None)
        if stack is None:
            stack = self._here.stack = []
        return stack

    def current(self) -> Optional[int]:
        """The id of the innermost module that runs in this thread, or None."""
        stack = self._stack()
        if not stack:
            return None
        root, inner = stack[0], stack[-1]
        names = self._names.get(root)
        if names is None:
            names = self._names[root] = {id(m): n for n, m in root.named_modules()}
        return self.trace.module(names.get(id(inner), "?"), type(inner).__name__)


def install() -> None:
    """Puts the conversion in place of torch's, whose rules for fakes swap tensors one by one and fail where a weak reference is."""
    Module._apply = _apply  # type: ignore[method-assign]
    torch.Tensor.data = property(_get_data, _set_data)  # type: ignore[assignment]
