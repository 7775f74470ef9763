"""State that trial steps change, copied to main memory and put back in place: the same tensors, at the same addresses.

In place, since optimizers, compiled functions and CUDA graphs refer to tensors by identity. In main memory, so that what is measured
meanwhile on the device is what the program itself will need.
"""
from __future__ import annotations

import copy
import random
import sys
from typing import Any, Callable, Iterable

from .. import _checks as checks

Undo = Callable[[], None]


def check(name: str, objects: Any) -> list[Any]:
    """A list of what save() can put back, from an argument of a public function. Raises TypeError for anything else."""
    kinds = "modules, optimizers, or other objects with state_dict() and load_state_dict()"
    given = checks.several(name, objects, kinds)
    for one in given:
        if isinstance(one, type) or not (hasattr(one, "state_dict") and hasattr(one, "load_state_dict")):
            raise TypeError(f"{name} has {checks.shown(one)}, which can't be put back: it has to be a list of {kinds}")
    return given


def save(objects: Iterable[Any]) -> list[Undo]:
    """Functions that put back modules (parameters, buffers, gradients, training mode), optimizers, and whatever has state_dict().

    Raises TypeError for an object that is none of these.
    """
    return [_undo_of(one) for one in objects]


def save_random() -> Undo:
    """Puts back the generators of Python, NumPy where it is loaded, and torch's of main memory and of the current device."""
    import torch

    undo: list[Undo] = []

    def keep(get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
        state = get()
        undo.append(lambda: put(state))

    keep(random.getstate, random.setstate)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        keep(numpy.random.get_state, numpy.random.set_state)
    keep(torch.get_rng_state, torch.set_rng_state)
    cuda: Any = torch.cuda
    if cuda.is_initialized():
        device = cuda.current_device()
        keep(lambda: cuda.get_rng_state(device), lambda state: cuda.set_rng_state(state, device))
    return lambda: _each(undo)


def save_gradients(parameters: Iterable[Any]) -> Undo:
    """Puts back the gradients: none where there was none, which costs nothing; zeros; or else a copy in main memory."""
    kept = list(parameters)
    grads = [p.grad for p in kept]
    zero = _all_zero([g for g in grads if g is not None])
    copies = [None if g is None or zero else _host(g) for g in grads]

    def put() -> None:
        for parameter, grad, held in zip(kept, grads, copies):
            parameter.grad = grad
            if grad is not None:
                _own(grad).zero_() if held is None else _own(grad).copy_(held)

    return put


def save_tensors(tensors: Iterable[Any]) -> Undo:
    """Puts back the values of tensors from copies beside them, on their own device."""
    kept = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def put() -> None:
        for tensor, held in kept:
            tensor.detach().copy_(held)

    return put


def _undo_of(one: Any) -> Undo:
    import torch

    if isinstance(one, torch.nn.Module):
        return _save_module(one)
    if isinstance(one, torch.optim.Optimizer):
        return _save_optimizer(one)
    if hasattr(one, "state_dict") and hasattr(one, "load_state_dict"):
        return _save_by_state_dict(one)
    raise TypeError(f"{type(one).__name__} can't be put back: a module, an optimizer, or an object with state_dict() was expected")


def _save_module(module: Any) -> Undo:
    tensors = [(t, _host(t)) for t in (*module.parameters(), *module.buffers())]
    grads = save_gradients(module.parameters())
    modes = [(part, part.training) for part in module.modules()]

    def put() -> None:
        for tensor, held in tensors:
            _own(tensor).copy_(held)
        grads()
        for part, training in modes:
            part.training = training

    return put


def _save_optimizer(optimizer: Any) -> Undo:
    """By its own dicts rather than load_state_dict(), which casts states to the type of their parameter."""
    states = {parameter: _keep(state) for parameter, state in optimizer.state.items()}
    groups = [{key: _keep(value) for key, value in group.items() if key != "params"} for group in optimizer.param_groups]

    def put() -> None:
        optimizer.state.clear()
        for parameter, restored in states.items():
            optimizer.state[parameter] = restored()
        for group, values in zip(optimizer.param_groups, groups):
            for key in [k for k in group if k != "params" and k not in values]:
                del group[key]
            group.update({key: restored() for key, restored in values.items()})

    return put


def _save_by_state_dict(one: Any) -> Undo:
    """Schedulers, gradient scalers, and others that keep what they are in a dict."""
    restored = _keep(one.state_dict())

    def put() -> None:
        one.load_state_dict(restored())
        # A gradient scaler also notes, outside of its state_dict, that a step which failed had begun.
        unfinished = getattr(one, "_per_optimizer_states", None)
        if unfinished is not None:
            unfinished.clear()

    return put


def _keep(value: Any) -> Callable[[], Any]:
    """A function that gives value back as it is now: a tensor as the same tensor with its numbers of now."""
    import torch

    if isinstance(value, torch.Tensor):
        return _keep_tensor(value)
    if type(value) is dict:
        parts = {key: _keep(part) for key, part in value.items()}
        return lambda: {key: part() for key, part in parts.items()}
    if type(value) in (list, tuple):
        kind, items = type(value), [_keep(part) for part in value]
        return lambda: kind(part() for part in items)
    if callable(value) or isinstance(value, torch.nn.Module):
        return lambda: value
    held = copy.deepcopy(value)
    return lambda: copy.deepcopy(held)


def _keep_tensor(tensor: Any) -> Callable[[], Any]:
    held = _host(tensor)

    def put() -> Any:
        _own(tensor).copy_(held)
        return tensor

    return put


def _host(tensor: Any) -> Any:
    """A copy in main memory. What is there already is copied as well."""
    import torch

    with torch.no_grad():
        return _own(tensor).to("cpu", copy=True)


def _own(tensor: Any) -> Any:
    """A tensor's memory on this rank: all of it, or the local part of a DTensor."""
    local = tensor.detach()
    return local.to_local() if hasattr(local, "to_local") else local


def _all_zero(tensors: list[Any]) -> bool:
    """Whether all are zeros, with one wait per device."""
    import torch

    counts: dict[Any, Any] = {}
    for tensor in map(_own, tensors):
        if tensor.layout != torch.strided:
            return False
        counts[tensor.device] = counts.get(tensor.device, 0) + torch.count_nonzero(tensor)
    return not any(bool(count) for count in counts.values())


def _each(undo: Iterable[Undo]) -> None:
    for one in undo:
        one()
