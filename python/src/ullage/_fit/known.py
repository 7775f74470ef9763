"""The values of small tensors on the GPU that came from the program itself: lengths, masks, counters, a scaler's scale.

They are kept for each storage as one real tensor of the CPU, which the storage's views are windows on, for as long as every operator
that makes or changes them can be run on real values too.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .storages import Storages

ELEMENTS = 1 << 16  # of the largest storage whose values are kept

_RANDOM = torch.Tag.nondeterministic_seeded
aten = torch.ops.aten
_UNCHANGED = {  # what these write is known without running them: no gradient overflows here
    aten._amp_foreach_non_finite_check_and_unscale_.default,
    aten._amp_update_scale_.default,
}

# What one operand alone decides, by operator: a sequence that has its greatest length is finished, whatever its last token was.
_ABSORBING = {
    aten.bitwise_or.Tensor: 1,
    aten.logical_or.default: 1,
    aten.bitwise_and.Tensor: 0,
    aten.logical_and.default: 0,
    aten.mul.Tensor: 0,
}


def _is_small(t: torch.Tensor) -> bool:
    return t.numel() <= ELEMENTS


class Known:
    """Values by storage."""

    def __init__(self, storages: Storages) -> None:
        self.storages = storages

    def of(self, t: torch.Tensor) -> Optional[torch.Tensor]:
        """The values of t as a real tensor of the CPU, or None where they are not known. Not to be written to."""
        if not isinstance(t, FakeTensor):
            return t if t.device.type == "cpu" else None
        if not _is_small(t) or t.layout is not torch.strided:
            return None
        living = self.storages.find(t.untyped_storage())
        base = None if living is None else living.values
        if base is None or base.dtype is not t.dtype:
            return None
        with torch._C._DisableTorchDispatch():
            window: torch.Tensor = base.as_strided(t.shape, t.stride(), t.storage_offset())
            return window

    def remember(self, t: torch.Tensor, value: torch.Tensor) -> None:
        """Takes value for what t holds. t is the whole of its storage."""
        living = self.storages.find(t.untyped_storage())
        if living is None or t.storage_offset() != 0 or not _is_small(t) or t.untyped_storage().nbytes() != t.numel() * t.itemsize:
            return
        with torch._C._DisableTorchDispatch():
            base = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype)
            base.copy_(value)
            living.values = base

    def forget(self, t: torch.Tensor) -> None:
        """What t's storage holds is not known any more."""
        if isinstance(t, FakeTensor) and t.layout is torch.strided:
            living = self.storages.find(t.untyped_storage())
            if living is not None:
                living.values = None

    def after(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Follows an operator that made the small tensor result."""
        if not isinstance(result, FakeTensor) or not _is_small(result) or result.layout is not torch.strided or _RANDOM in func.tags:
            return
        value = self._run(func, args, kwargs)
        if value is None:
            value = self._decided(func, args, result)
        if isinstance(value, torch.Tensor):
            self.remember(result, value)

    def after_write(self, func: Any, args: Any, kwargs: Any, written: Any) -> None:
        """Follows an operator that wrote into its first argument."""
        if func in _UNCHANGED:
            return
        if not isinstance(written, FakeTensor):
            for t in written if isinstance(written, (list, tuple)) else ():
                self.forget(t)
            return
        if not _is_small(written):
            return
        if func is aten.zero_.default or func is aten.fill_.Scalar:
            with torch._C._DisableTorchDispatch():
                self.remember(written, torch.full(written.shape, args[1] if len(args) > 1 else 0, dtype=written.dtype))
            return
        if func is aten.copy_.default and (value := self.of(args[1])) is not None and written.storage_offset() == 0:
            self.remember(written, value)
        if self.of(written) is None:
            return
        if _RANDOM in func.tags or self._run(func, args, kwargs) is None:
            self.forget(written)

    def _run(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The operator's result on values, or None where some are not known."""
        try:
            real_args = [self._real(a) for a in args]
            real_kwargs = {k: torch.device("cpu") if k == "device" and v is not None else self._real(v) for k, v in kwargs.items()}
            with torch._C._DisableTorchDispatch():
                return func(*real_args, **real_kwargs)
        except (_Unknown, RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            return None

    def _decided(self, func: Any, args: Any, result: torch.Tensor) -> Optional[torch.Tensor]:
        """What follows from the one operand that is known. Not of floating point, where 0 * nan is nan, nor of the bits of numbers."""
        end = _ABSORBING.get(func)
        if end is None or result.dtype.is_floating_point or result.dtype.is_complex or (end and result.dtype is not torch.bool):
            return None
        for t in args[:2]:
            known = self.of(t) if isinstance(t, torch.Tensor) else None
            if known is not None:
                with torch._C._DisableTorchDispatch():
                    if bool((known == end).all()):
                        return torch.full(result.shape, end, dtype=result.dtype)
        return None

    def _real(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            known = self.of(value)
            if known is None or known.numel() > ELEMENTS:
                raise _Unknown
            return known
        if isinstance(value, (list, tuple)):
            return [self._real(v) for v in value]
        if isinstance(value, torch.Generator):
            raise _Unknown
        return value


class _Unknown(Exception):
    """An argument has no known values."""
