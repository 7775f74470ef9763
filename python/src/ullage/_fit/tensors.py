"""What a fake tensor does where torch's own would show that it is one: formatting, copying, saving, and giving its values away."""
from __future__ import annotations

import importlib.util
import threading
from typing import Any, Callable, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor

from . import saving, values
from .trace import Trace, caller

_loading = threading.local()  # .device: where a file that is being loaded goes, or None to where it came from
_made_by: Callable[..., Any]


def install(trace: Trace, folder: str) -> None:
    """Gives fakes their manners. What they are saved to goes to the folder of the traced run."""
    fake: Any = FakeTensor
    fake.__format__ = _format
    fake.__deepcopy__ = _deepcopy
    fake.__reduce_ex__ = _reduce
    fake.data_ptr = lambda self: self.untyped_storage()._cdata + self.storage_offset() * self.itemsize

    def numpy(self: Any, *, force: bool = False) -> Any:
        if self.fake_device.type != "cpu" and not force:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
        stack = trace.stack(caller())
        trace.note("value", f"{values.stand_in(self)} in an array of {tuple(self.shape)}", None if stack < 0 else stack)
        return _stand_in_copy(self).numpy()

    fake.numpy = numpy
    fake.__array__ = lambda self, dtype=None, copy=None: self.numpy() if dtype is None else self.numpy().astype(dtype)
    saving.Checkpoints(trace, folder, _loader(torch.load)).install()
    torch.serialization.add_safe_globals([_rebuild])
    _addresses()
    _sharing()
    _safetensors(trace)


def _addresses() -> None:
    """Gives the storages of fakes addresses that differ, as programs tell shared weights by them."""
    address = torch.UntypedStorage.data_ptr

    def data_ptr(self: Any) -> int:
        return int(self._cdata) if self.device.type == "meta" else int(address(self))

    torch.UntypedStorage.data_ptr = data_ptr  # type: ignore[method-assign]


def _sharing() -> None:
    """Leaves the storages of fakes where they are, as memory of the GPU can be shared without being moved."""
    share = torch.UntypedStorage.share_memory_

    def share_memory_(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self if self.device.type == "meta" else share(self, *args, **kwargs)

    torch.UntypedStorage.share_memory_ = share_memory_  # type: ignore[method-assign]


def _safetensors(trace: Trace) -> None:
    """Has safetensors, where it is there, write no file of tensors without contents: it would read them at their addresses."""
    if importlib.util.find_spec("safetensors") is None:
        return
    module = importlib.import_module("safetensors.torch")
    save_file = module.save_file

    def noting_save_file(tensors: Any, filename: Any, *args: Any, **kwargs: Any) -> None:
        if any(isinstance(t, FakeTensor) for t in tensors.values()):
            stack = trace.stack(caller())
            trace.note("save", "a file of safetensors was not written", None if stack < 0 else stack)
            return
        save_file(tensors, filename, *args, **kwargs)

    setattr(module, "save_file", noting_save_file)


def _stand_in_copy(t: torch.Tensor) -> torch.Tensor:
    """A real tensor of the CPU in t's form."""
    with torch._C._DisableTorchDispatch():
        return torch.full(t.shape, values.stand_in(t), dtype=t.dtype)


def _format(self: Any, spec: str) -> str:
    """As Tensor.__format__ does for ordinary tensors."""
    if self.dim() == 0:
        return str(self.item().__format__(spec))
    return object.__format__(self, spec)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """A copy with a storage of its own, as Tensor.__deepcopy__ makes."""
    found = memo.get(id(self))
    if found is not None:
        return found
    if not self.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.")
    with torch.no_grad():
        made: Any = self.detach().clone()
    if isinstance(self, torch.nn.Parameter):
        made = torch.nn.Parameter(made, self.requires_grad)
    else:
        made.requires_grad_(self.requires_grad)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = _deepcopy(self.grad, memo)
    return made


def _reduce(self: Any, protocol: Any) -> Any:
    saving.count_fake()
    return _rebuild, _recipe(self)


def _recipe(t: Any) -> tuple[Any, ...]:
    return tuple(t.shape), t.stride(), t.dtype, str(t.fake_device), t.requires_grad, isinstance(t, torch.nn.Parameter)


def _rebuild(shape: Any, strides: Any, dtype: torch.dtype, device: str, requires_grad: bool, is_parameter: bool) -> Any:
    """Makes a tensor of a form again that was saved without its contents."""
    to: Optional[torch.device] = getattr(_loading, "device", None)
    made = torch.empty_strided(shape, strides, dtype=dtype, device=to or device)
    return torch.nn.Parameter(made, requires_grad) if is_parameter else made.requires_grad_(requires_grad)


def _loader(load: Callable[..., Any]) -> Callable[..., Any]:
    """torch.load with what goes to the GPU read on the CPU first, and moved there one by one."""

    def loading(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        device = None
        if isinstance(map_location, (str, torch.device, int)):
            device = torch.device("cuda", map_location) if isinstance(map_location, int) else torch.device(map_location)
        _loading.device = device
        try:
            if device is None or device.type != "cuda":
                return load(f, map_location, *args, **kwargs)
            return _moved(load(f, "cpu", *args, **kwargs), device)
        finally:
            _loading.device = None

    return loading


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        for k in list(value):
            value[k] = _moved(value[k], device)
        return value
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_moved(v, device) for v in value)
    return value
