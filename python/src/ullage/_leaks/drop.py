"""Makes an object let go of what it holds, and leaves everything else as it is.

Only the object itself is changed. A parameter that another model shares, a submodule that another object refers to, a tensor in
somebody else's list stay what they were: whoever holds them keeps them whole, and is named instead.
"""
from __future__ import annotations

import traceback
from typing import Any, Iterator, MutableMapping

from .. import _checks as checks
from .._oom import failure
from . import reach


def require(obj: Any) -> None:
    """Raises TypeError for what holds no tensors by its nature: code, text, numbers."""
    if obj is not None and (isinstance(obj, reach.CODE) or not (hasattr(obj, "__dict__") or hasattr(obj, "__len__"))):
        hint = "flush= is given by its name" if isinstance(obj, bool) else ""
        raise checks.wrong("what release() was given", obj, "the module, optimizer, container or tensor itself", hint)


def drop(obj: Any) -> None:
    """Makes obj let go of the tensors that it holds. A tensor can't; a tuple's parts do."""
    import torch

    if obj is None or isinstance(obj, torch.Tensor):
        return
    if isinstance(obj, torch.nn.Module):
        _empty_module(obj, torch)
    elif isinstance(obj, torch.optim.Optimizer):
        obj.state.clear()
        obj.param_groups.clear()
    elif isinstance(obj, BaseException):
        clear_frames(obj)
        obj.__traceback__ = None
    elif isinstance(obj, (tuple, frozenset)):
        for part in obj:
            if reach.holds_any(part):
                drop(part)
    elif callable(getattr(obj, "clear", None)) and hasattr(obj, "__len__"):
        obj.clear()
    else:
        _empty_object(obj)


def _empty_module(module: Any, torch: Any) -> None:
    """Takes parameters, buffers, submodules, hooks, and attributes with tensors or functions. What remains can be printed, not used."""
    tables = (module._parameters, module._buffers, module._modules)
    for table in tables:
        for name in list(table):
            table[name] = None
    bare = vars(torch.nn.Module())
    for name, value in list(vars(module).items()):
        if name in bare and isinstance(value, MutableMapping) and not any(value is t for t in tables):
            value.clear()  # hooks, of which each may hold anything
        elif name not in bare and (callable(value) or reach.holds_any(value)):
            module.__dict__[name] = None


def _empty_object(obj: Any) -> None:
    """Takes those attributes from a plain object that hold tensors."""
    for name, value in list(vars(obj).items()):
        if reach.holds_any(value):
            obj.__dict__[name] = None


def clear_frames(error: BaseException) -> None:
    """Clears the locals of the finished frames of an error and of those in its chain."""
    for link in failure.chain(error):
        traceback.clear_frames(link.__traceback__)


def errors_at_hand() -> Iterator[BaseException]:
    """The error that is being handled, and the one that last reached the top of an interactive session."""
    import sys

    for error in (sys.exc_info()[1], getattr(sys, "last_value", None)):
        if error is not None:
            yield error
