"""Numbers of 16 bits: by autocast, which leaves weights and the optimizer's state as they are, or for the whole model."""
from __future__ import annotations

from typing import Any

import torch
from torch.nn import Module

from .remedy import Remedy


def _of(device: Any) -> Any:
    """The device that cuda(device) means."""
    if device is None or isinstance(device, int):
        return torch.device("cuda", torch.cuda.current_device() if device is None else device)
    return device


class Autocast(Remedy):
    """torch.autocast from the call of the outermost module until the backward pass, so that a loss after the model is within it."""

    def __init__(self, dtype: str) -> None:
        self.dtype: torch.dtype = getattr(torch, dtype)
        super().__init__("the program has autocast on already, or calls no model for training")
        self._open: Any = None

    def install(self) -> None:
        """Has it end where autograd begins."""
        for name in ("backward", "grad"):
            setattr(torch.autograd, name, self._closing(getattr(torch.autograd, name)))

    def _closing(self, function: Any) -> Any:
        def closing(*args: Any, **kwargs: Any) -> Any:
            self._close()
            return function(*args, **kwargs)

        return closing

    def _close(self) -> None:
        if self._open is not None:
            opened, self._open = self._open, None
            opened.__exit__(None, None, None)

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Begins it, where the module is called for training and it is not on already."""
        if torch.is_grad_enabled() and self._open is None and not torch.is_autocast_enabled("cuda"):
            self.places += 1
            self.did = f'torch.autocast("cuda", {self.dtype}) around the forward pass and the loss'
            self._open = torch.autocast("cuda", dtype=self.dtype)
            self._open.__enter__()
        return args, kwargs


class Convert(Remedy):
    """A model of another type: it is converted as it goes to the GPU, and so are tensors that the program sends there to be its input."""

    def __init__(self, dtype: str) -> None:
        self.dtype: torch.dtype = getattr(torch, dtype)
        super().__init__("no model of float32 is on the GPU")

    def install(self) -> None:
        """Has to() and cuda() of modules and of tensors convert."""
        to, convert = Module.to, self
        self._install_for_tensors()

        def converting(self: Module, *args: Any, **kwargs: Any) -> Any:
            device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
            if device is not None and device.type == "cuda" and dtype is None:
                convert._count(self)
                kwargs["dtype"] = convert.dtype
            return to(self, *args, **kwargs)

        def cuda(self: Module, device: Any = None) -> Any:
            return self.to(_of(device))

        Module.to = converting  # type: ignore[method-assign]
        Module.cuda = cuda  # type: ignore[method-assign]

    def _install_for_tensors(self) -> None:
        """A batch goes to the GPU in the type that the model takes, as its user would write it: x.to("cuda", torch.bfloat16)."""
        to, dtype = torch.Tensor.to, self.dtype

        def converting(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            if self.dtype is torch.float32 and self.device.type == "cpu" and not isinstance(self, torch.nn.Parameter):
                device, wanted, *_ = torch._C._nn._parse_to(*args, **{k: v for k, v in kwargs.items() if k != "copy"})
                if device is not None and device.type == "cuda" and wanted is None:
                    kwargs["dtype"] = dtype
            return to(self, *args, **kwargs)

        def cuda(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> torch.Tensor:
            return self.to(_of(device), non_blocking=non_blocking, **kwargs)

        torch.Tensor.to = converting  # type: ignore[assignment,method-assign]
        torch.Tensor.cuda = cuda  # type: ignore[assignment,method-assign]

    def _count(self, module: Module) -> None:
        n = sum(p.dtype is torch.float32 for p in module.parameters())
        if n:
            self.places += n
            self.did = f"the model, its gradients, the optimizer's state and the inputs in {self.dtype}"

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Converts a module that was made on the GPU, and the arguments."""
        if any(p.dtype is torch.float32 and p.device.type == "cuda" for p in module.parameters()):
            self._count(module)
            module.to(dtype=self.dtype)
        return self._converted(args), self._converted(kwargs)

    def _converted(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(self.dtype) if value.dtype in (torch.float32, torch.float64) and value.device.type == "cuda" else value
        if isinstance(value, dict):
            return {k: self._converted(v) for k, v in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._converted(v) for v in value)
        return value
