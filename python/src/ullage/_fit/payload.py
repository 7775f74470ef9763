"""Sends a model, a function and what it is called with to another process: tensors as their forms, everything else by pickle.

Only small tensors go with their values. The receiver makes fakes of the others, so a model of any size, on whatever device, is a
few kilobytes.
"""
from __future__ import annotations

import io
import multiprocessing.spawn
import pickle
from typing import Any, BinaryIO

import torch

VALUE_BYTES = 1 << 20  # of the largest storage that is sent with its values, as in mode.REAL_BYTES


class CannotSend(Exception):
    """Something cannot be pickled: the message says what."""


def write(file: BinaryIO, value: Any) -> None:
    """Writes value, with what the receiver needs so as to import what this process has imported.

    Functions and classes of a script are imported from it, as multiprocessing does; those of a notebook, and lambdas, go by
    cloudpickle where that is installed. Raises CannotSend.
    """
    preparation = multiprocessing.spawn.get_preparation_data("ullage.fit")
    preparation.pop("authkey", None)  # no business of a file's
    pickle.dump(preparation, file)
    try:
        file.write(_dumps(pickle.Pickler, value))
    except (pickle.PicklingError, TypeError, AttributeError) as e:
        try:
            import cloudpickle  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise CannotSend(str(e)) from e
        try:
            file.write(_dumps(cloudpickle.Pickler, value))
        except Exception as e2:  # cloudpickle raises whatever the objects' own methods do
            raise CannotSend(str(e2)) from e2


def _dumps(pickler: Any, value: Any) -> bytes:
    class Pickler(pickler):  # type: ignore[misc]
        def persistent_id(self, obj: Any) -> Any:
            return _form(obj)

    out = io.BytesIO()
    Pickler(out).dump(value)
    return out.getvalue()


def _form(obj: Any) -> Any:
    """A tensor that goes without its values, as what `_make` takes; None for all else."""
    if type(obj) not in (torch.Tensor, torch.nn.Parameter) or obj.layout is not torch.strided:
        return None
    small = obj.untyped_storage().nbytes() <= VALUE_BYTES
    if small and obj.device.type == "cpu":
        return None
    value = obj.detach().cpu() if small and obj.device.type != "meta" else None
    kind = "cuda" if obj.device.type == "meta" else obj.device.type
    is_parameter = isinstance(obj, torch.nn.Parameter)
    return id(obj), (tuple(obj.shape), tuple(obj.stride()), obj.dtype, kind, obj.device.index, obj.requires_grad, is_parameter), value


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._made: dict[int, torch.Tensor] = {}  # a tensor that several share stays one

    def persistent_load(self, pid: Any) -> torch.Tensor:
        key, form, value = pid
        if key not in self._made:
            self._made[key] = _make(form, value)
        return self._made[key]


def _make(form: Any, value: Any) -> torch.Tensor:
    shape, stride, dtype, kind, index, requires_grad, is_parameter = form
    device = torch.device(kind) if index is None else torch.device(kind, index)
    t = torch.empty_strided(shape, stride, dtype=dtype, device=device) if value is None else value.to(device)
    if is_parameter:
        return torch.nn.Parameter(t, requires_grad)
    result: torch.Tensor = t.requires_grad_(requires_grad) if requires_grad else t
    return result


def read(file: BinaryIO) -> Any:
    """Reads what write has written. May raise whatever the import of the sender's modules raises."""
    multiprocessing.spawn.prepare(pickle.load(file))
    return _Unpickler(file).load()
