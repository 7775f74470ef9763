"""What the public functions are given: checked before anything is done with it.

Each check takes the argument's name and value, and returns the value in the form that the code behind it expects. What can't be is
told in one line: which argument, what was given, what is expected. A wrong type raises TypeError, a wrong value ValueError. Nothing
here begins to use CUDA, and only what is about torch's own objects imports torch.
"""
from __future__ import annotations

import inspect
import math
import numbers
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, TypeVar

from . import _units

if TYPE_CHECKING:
    import torch

T = TypeVar("T")

SHOWN = 60  # characters of a value in an error
_AN_INSTANCE = "an instance of it, not the class"  # a hint
MOST_SECONDS = 10**9  # of a wait: 31 years, which fit into the nanoseconds that PyTorch counts in
MOST_DEVICES = 128  # that PyTorch can number


def wrong(name: str, value: Any, expected: str, hint: str = "", kind: type[Exception] = TypeError) -> Exception:
    """The error for an argument: floor is 1.5, but has to be a whole number. hint: ..."""
    return kind(f"{name} is {shown(value)}, but has to be {expected}" + (f". hint: {hint}" if hint else ""))


def shown(value: Any) -> str:
    """A value in an error: plain ones as they are written, others by their kind, since their own text can be of many lines."""
    if isinstance(value, int) and value.bit_length() > 1000:  # Python refuses to write out thousands of digits
        return f"a number of {value.bit_length():,} bits"
    if value is None or type(value) in (str, bytes) or isinstance(value, numbers.Number):
        text = repr(value[:SHOWN] if isinstance(value, (str, bytes)) else value)
        return text if len(text) <= SHOWN else text[:SHOWN - 1] + "…"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if inspect.isroutine(value) and not isinstance(value, (classmethod, staticmethod)):
        return f"the function {getattr(value, '__name__', '?')}"
    name = type(value).__name__
    text = ("an " if name[0] in "AEIOUaeiou" else "a ") + name
    return f"{text} of shape {tuple(value.shape)} and {value.dtype}" if is_tensor(value) else text


def optional(check: Callable[..., T], name: str, value: Any, **options: Any) -> Optional[T]:
    """A check of an argument that may be None."""
    return None if value is None else check(name, value, **options)


# --- numbers


def whole(name: str, value: Any, *, least: Optional[int] = 0, most: Optional[int] = None, hint: str = "") -> int:
    """A whole number: an int, one of NumPy's, a tensor of one; anything that Python takes for an index, but no bool."""
    given = value if type(value) is int else index(value)  # an int at once: shapes and steps are checked at each call
    if given is not None and (least is None or given >= least) and (most is None or given <= most):
        return given
    expected = ", ".join(filter(None, ["a whole number", _range(least, None, None, most)]))
    raise wrong(name, value, expected, hint, TypeError if given is None else ValueError)


def number(
    name: str, value: Any, *, of: str = "a number", least: Optional[float] = None, above: Optional[float] = None,
    below: Optional[float] = None, most: Optional[float] = None, hint: str = "",
) -> float:
    """A number that may have a fraction, within bounds; never nan. Infinity passes where no bound keeps it out."""
    expected = ", ".join(filter(None, [of, _range(least, above, below, most)]))
    if _is_bool(value) or isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
        raise wrong(name, value, expected, hint)
    try:
        given = float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # a tensor or an array of many
        raise wrong(name, value, expected, hint) from None
    too_low = least is not None and given < least or above is not None and given <= above
    too_high = most is not None and given > most or below is not None and given >= below
    if math.isnan(given) or too_low or too_high:
        raise wrong(name, value, expected, hint, ValueError)
    return given


def share(name: str, value: Any) -> float:
    """A part of a whole, from 0 to below 1."""
    hint = "a share, not percent: 0.05 is 5 %" if isinstance(value, (int, float)) and value >= 1 else ""
    return number(name, value, of="a share", least=0, below=1, hint=hint)


def seconds(name: str, value: Any) -> float:
    """A time, perhaps one that never ends."""
    return number(name, value, of="a number of seconds", least=0)


def timeout(name: str, value: Any) -> float:
    """A time that ends."""
    return number(name, value, of="a number of seconds", above=0, most=MOST_SECONDS)


def size_bytes(name: str, value: Any, *, least: int = 0, why: str = "") -> int:
    """An amount of memory: whole bytes, as a number, or text as the program `ullage` reads it ("8GiB", "512 MB").

    why says what the least amount is, where it is no matter of course.
    """
    bounds = f", at least {_units.size(least) if least > 1 else least}" + (f", {why}" if why else "")
    expected = "bytes, as a number or as text like '8GiB'" + bounds
    given = _amount(name, value, expected)
    if given < least:
        meant_more = 0 < given < min(least, 1 << 20) and not isinstance(value, str)
        hint = "a number counts bytes: write '8GiB' or 8 << 30 for 8 GiB" if meant_more else ""
        raise wrong(name, value, expected, hint, ValueError)
    return given


def _amount(name: str, value: Any, expected: str) -> int:
    if isinstance(value, str):
        try:
            return _units.parse_bytes(value)
        except ValueError as err:
            raise ValueError(f"{name} is {err}") from None
    given = index(value)
    if given is not None:
        return given
    if not isinstance(value, numbers.Real) or _is_bool(value):
        raise wrong(name, value, expected)
    amount = float(value)
    if amount.is_integer():  # 20e9 is how many write it
        return int(amount)
    hint = "int(...) of a product" if math.isfinite(amount) and amount > 1 else "bytes, not a share of the device" if 0 < amount < 1 else ""
    raise wrong(name, value, expected, hint, ValueError)


def index(value: Any) -> Optional[int]:
    """A value as a whole number, or None where it is none. Strings, floats and truth values are none."""
    if _is_bool(value):
        return None
    try:
        return operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: of a tensor
        return None


def _is_bool(value: Any) -> bool:
    """Whether a value is a truth value: Python's, NumPy's, or a tensor of them."""
    return isinstance(value, bool) or str(_ask(value, "dtype")) in ("bool", "torch.bool")


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor or an array."""
    return _ask(value, "dtype") is not None and isinstance(_ask(value, "shape"), tuple)


def _ask(value: Any, name: str) -> Any:
    """An attribute, or None where there is none, or none that may be looked at: a nested tensor has no shape."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _range(least: Optional[float], above: Optional[float], below: Optional[float], most: Optional[float]) -> str:
    words = (("at least", least), ("more than", above), ("below", below), ("at most", most))
    return " and ".join(f"{word} {bound:,}" for word, bound in words if bound is not None)


# --- text, switches, functions, collections


def flag(name: str, value: Any) -> bool:
    """True or False. Other things have a truth value as well, but whoever gives "no" doesn't mean True."""
    if _is_bool(value) and not getattr(value, "shape", ()) or isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise wrong(name, value, "True or False")


def text(name: str, value: Any, hint: str = "") -> str:
    """Text."""
    if isinstance(value, str):
        return value
    raise wrong(name, value, "text", hint)


def choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words."""
    expected = " or ".join(map(repr, choices))
    if not isinstance(value, str):
        raise wrong(name, value, expected)
    if value not in choices:
        raise wrong(name, value, expected, kind=ValueError)
    return value


def path(name: str, value: Any, what: str = "the name of a file") -> str:
    """The name of a file, or what else may be named in its place."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise wrong(name, value, f"{what}: text, or a path") from None


def function(name: str, value: Any, *, given: Optional[str] = None, arguments: int = 1, hint: str = "") -> Callable[..., Any]:
    """A function. given: in words, what it is called with, and arguments how many that are; None: that depends on the call."""
    expected = "a function" if given is None else f"a function of {given}" if arguments else "a function without arguments"
    if not callable(value):
        raise wrong(name, value, expected, hint)
    if given is not None and not takes(value, arguments):
        raise wrong(name, value, f"{expected}: it can't be called with {_units.count(arguments, 'argument')}", hint)
    return value  # type: ignore[no-any-return]


def decorated(name: str, value: Any, hint: str = "") -> Callable[..., Any]:
    """A function that a decorator can stand around."""
    if isinstance(value, (classmethod, staticmethod)):  # which Python 3.9 can't call
        raise wrong(name, value, "a function", f"@{type(value).__name__} goes above it")
    if isinstance(value, type):
        raise wrong(name, value, "a function", "decorate a method of it: a function in a class's place is no class")
    return function(name, value, hint=hint)


def runs_later(call: Callable[..., Any]) -> bool:
    """Whether what a function does happens after its call has returned: it is a generator or a coroutine, or its object's call is one."""
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return any(kind(each) for kind in kinds for each in (call, getattr(type(call), "__call__", None)))


def ran(name: str, result: T) -> T:
    """What a function has returned, unless that is its work, still to be done."""
    if inspect.iscoroutine(result):
        result.close()  # else Python warns that nobody awaited it
        raise TypeError(f"{name} returned a coroutine, and so has not run yet. hint: asyncio.run(...) within it")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError(f"{name} returned a generator, and so has not run yet. hint: iterate over it within {name}")
    return result


def called(value: Any) -> str:
    """A function's name in an error; partial functions and objects that can be called have none of their own."""
    return getattr(value, "__qualname__", None) or shown(value)


def takes(call: Callable[..., Any], arguments: int, *named: str) -> bool:
    """Whether a function can be called with so many arguments, and these by name."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # a function of C doesn't tell
        return True
    try:
        signature.bind(*[None] * arguments, **dict.fromkeys(named))
    except TypeError:
        return False
    return True


def several(name: str, value: Any, what: str) -> list[Any]:
    """A list of things, given as anything that one can iterate over; one thing alone, or a dict of them, is not meant."""
    single = isinstance(value, (str, bytes, Mapping)) or hasattr(value, "state_dict") or is_tensor(value)
    if single or not isinstance(value, Iterable):
        hint = f"{name}=[...]" if hasattr(value, "state_dict") else "a list of its values" if isinstance(value, Mapping) else ""
        raise wrong(name, value, f"a list of {what}", hint)
    return list(value)


# --- torch's objects, and its devices


def module(name: str, value: Any, hint: str = "") -> Any:
    """A torch.nn.Module."""
    import torch

    if isinstance(value, torch.nn.Module):
        return value
    what = "a torch.nn.Module, or a list of them" if isinstance(value, (list, tuple)) else "a torch.nn.Module"
    raise wrong(name, value, what, _AN_INSTANCE if isinstance(value, type) else hint)


def modules(name: str, value: Any, hint: str = "") -> list[Any]:
    """A module, or a list of at least one."""
    parts = list(value) if isinstance(value, (list, tuple)) and value else [value]
    return [module(name, part, hint) for part in parts]


def optimizers(name: str, value: Any, hint: str = "") -> list[Any]:
    """An optimizer, a list of them, or None: an empty list. What has the state and groups of one counts, as wrappers do."""
    parts = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for part in parts:
        if isinstance(part, type) or not (hasattr(part, "state") and hasattr(part, "param_groups")):
            hint = _AN_INSTANCE if isinstance(part, type) else hint
            raise wrong(name, part, "an optimizer of torch.optim, or a list of them", hint)
    return parts


def device(name: str, value: Any) -> Optional[torch.device]:
    """A device, given in any of torch's ways; a number is that of a GPU. None stays None."""
    if value is None:
        return None
    import torch

    expected = "a device, as 0, 'cuda:0' or torch.device('cuda', 0)"
    if isinstance(value, torch.device):
        return _existing(name, value)
    if isinstance(value, str):
        try:
            return _existing(name, torch.device(value))
        except RuntimeError:
            raise wrong(name, value, expected, kind=ValueError) from None
    if index(value) is None:
        raise wrong(name, value, expected)
    return _existing(name, torch.device("cuda", whole(name, value, most=MOST_DEVICES - 1, hint="it is the number of a GPU")))


def cuda_device(name: str, value: Any) -> Optional[torch.device]:
    """One of CUDA's devices, whose allocator is the one that can be asked; None for the current one."""
    given = device(name, value)
    if given is not None and given.type != "cuda":
        raise wrong(name, str(given), "one of CUDA's devices: only their allocator can be asked", kind=ValueError)
    return given


def _existing(name: str, given: torch.device) -> torch.device:
    import torch

    count = torch.cuda.device_count() if given.type == "cuda" else 0  # does not begin to use CUDA
    if given.index is not None and 0 < count <= given.index:
        raise ValueError(f"{name} is {str(given)!r}, but this process sees {_units.count(count, 'CUDA device')}, numbered from 0")
    return given


def need_cuda(who: str, hint: str = "") -> None:
    """Raises RuntimeError where PyTorch has no CUDA device. Comes after the checks of arguments."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError(f"{who} needs a CUDA device, and PyTorch finds none" + (f". hint: {hint}" if hint else ""))
