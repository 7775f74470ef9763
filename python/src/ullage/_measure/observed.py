"""What a model's forward pass tells while real steps run: shapes, modes, graphs that nobody uses."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Iterator, Mapping, Optional, Sequence

from .outlook import Warned


class Observer:
    """Hooks on models, for as long as the block lasts. Compiled models are left alone: a hook would have them compiled anew."""

    def __init__(self, models: Sequence[Any]) -> None:
        self._models = [m for m in models if not hasattr(m, "_orig_mod")]
        self._handles: list[Any] = []
        self.shapes: set[tuple[tuple[int, ...], ...]] = set()  # of the inputs of a call, each different set once
        self.graphs_in_eval = 0  # calls in evaluation mode whose result carries a graph
        self.backward = False  # a gradient has reached the result of a call

    def __enter__(self) -> "Observer":
        for model in self._models:
            self._handles.append(model.register_forward_pre_hook(self._before, with_kwargs=True))
            self._handles.append(model.register_forward_hook(self._after))
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        for handle in self._handles:
            handle.remove()

    def _before(self, model: Any, args: Any, kwargs: Any) -> None:
        self.shapes.add(tuple(tuple(t.shape) for t in tensors([args, kwargs])))

    def _after(self, model: Any, args: Any, result: Any) -> None:
        graphs = [t for t in tensors(result) if t.requires_grad]
        if graphs and not model.training:
            self.graphs_in_eval += 1
        for tensor in graphs:
            tensor.register_hook(self._on_gradient)

    def _on_gradient(self, gradient: Any) -> None:
        self.backward = True

    def warnings(self, benchmark: bool, convolutions: bool) -> list[Warned]:
        """What was seen that costs memory. benchmark: whether cuDNN tries algorithms; convolutions: whether there are any."""
        found = []
        if self.graphs_in_eval and not self.backward:
            found.append(Warned(
                "leak/eval-without-no-grad",
                "the model is in evaluation mode and its result carries a graph that no backward pass uses:"
                " run it under torch.inference_mode(), which keeps no activations"))
        if benchmark and convolutions and len(self.shapes) > 1:
            found.append(Warned(
                "peak/cudnn-benchmark",
                f"cudnn.benchmark is on and the inputs vary ({len(self.shapes)} shapes in these steps):"
                " each new shape tries algorithms with large workspaces"))
        return found


def has_convolutions(models: Sequence[Any]) -> bool:
    """Whether a model has a layer of torch's that cuDNN convolves for."""
    import torch

    kinds = tuple(getattr(torch.nn, f"{name}{d}d") for name in ("Conv", "ConvTranspose") for d in (1, 2, 3))
    return any(isinstance(part, kinds) for model in models for part in model.modules())


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in dicts, lists and tuples."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)
