"""Has "cuda" without a number mean the thread's current GPU where C++ would take the first.

Without a driver torch's own code completes such a device to "cuda:0" in conversions, and in tensors made of Python's numbers. A rank of
a job has another current device.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch
from torch.jit._builtins import _register_builtin

if TYPE_CHECKING:
    from .cuda import Card


def install(card: "Card") -> None:
    """Completes devices before C++ does, for a program that is shown several; torch.accelerator's current device is the card's."""
    native: Any = torch._C
    native._accelerator_exchangeDevice = card.set_device
    native._accelerator_maybeExchangeDevice = card.maybe_set_device
    native._accelerator_getDeviceIndex = card.current_device
    if card.config.devices < 2:
        return

    def completed(value: Any) -> Any:
        if isinstance(value, str):
            return f"cuda:{card.current_device()}" if value == "cuda" else value
        if isinstance(value, torch.device) and value.type == "cuda" and value.index is None:
            return torch.device("cuda", card.current_device())
        return value

    def wrapped(function: Callable[..., Any], place: int) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) > place:
                args = (*args[:place], completed(args[place]), *args[place + 1 :])
            if "device" in kwargs:
                kwargs["device"] = completed(kwargs["device"])
            return function(*args, **kwargs)

        return call

    native_cuda = torch.Tensor.cuda

    def cuda(self: torch.Tensor, device: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:
        return native_cuda(self, card.current_device() if device is None else completed(device), *args, **kwargs)

    torch.Tensor.cuda = cuda  # type: ignore[method-assign,assignment]
    torch.Tensor.to = wrapped(torch.Tensor.to, 1)  # type: ignore[method-assign]
    for name in ("tensor", "as_tensor", "asarray"):
        replaced = wrapped(getattr(torch, name), 10)  # their devices are given by name
        setattr(torch, name, replaced)
        _register_builtin(replaced, f"aten::{name}")  # scripted functions call them by these
