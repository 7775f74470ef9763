"""retry_on_oom: what ran out of memory is repeated with less, on all ranks or on none."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Generic, Hashable, Iterator, Mapping, Optional, TypeVar, Union, cast, overload

from .. import _checks as checks
from .attempts import Attempt, Run, same
from .ranks import Ranks
from .report import Report

T = TypeVar("T")
R = TypeVar("R")


def grad_mode() -> str:
    """"train" where gradients are recorded, else "eval": the key under which a size is remembered by default."""
    import torch

    return "train" if torch.is_grad_enabled() else "eval"


@overload
def retry_on_oom(function: Callable[..., R]) -> Callable[..., R]: ...
@overload
def retry_on_oom(
    function: None = None, *, size: Optional[T] = None, floor: Optional[int] = None, shrink: Optional[Callable[[Any], Any]] = None,
    attempts: Optional[int] = None, key: Optional[Callable[..., Hashable]] = None, before_retry: Optional[Callable[[], object]] = None,
    argument: Optional[str] = None, group: Any = None, agree: bool = True, timeout_s: float = 300.0,
) -> Retry[T]: ...
def retry_on_oom(
    function: Optional[Callable[..., R]] = None, *, size: Optional[T] = None, floor: Optional[int] = None,
    shrink: Optional[Callable[[Any], Any]] = None,
    attempts: Optional[int] = None, key: Optional[Callable[..., Hashable]] = None, before_retry: Optional[Callable[[], object]] = None,
    argument: Optional[str] = None, group: Any = None, agree: bool = True, timeout_s: float = 300.0,
) -> Union[Retry[T], Callable[..., R]]:
    """Repeats what runs out of GPU memory, each time with less. As a loop, or as a decorator:

        sizes = retry_on_oom(size=64, floor=4)           @retry_on_oom(size=64, floor=4)
        for batch in loader:                             def step(batch, *, size):
            for attempt in sizes:                            ...
                with attempt:
                    step(batch, attempt.size)            step(batch)

    size          what is made smaller: a number of anything, or any value that shrink understands. The size that worked is
                  remembered by the object, for each key separately.
    floor         the smallest size to try, where size is an integer; 1 by default.
    shrink        from the size that failed to the next one; None, or the same, when there is none. Half by default. A decorator without a
                  size gets a dict of the call's arguments by name instead, and returns the changed ones. On several ranks it has to give
                  the same on all of them.
    attempts      how many in all; 10, or 2 where there is nothing to shrink: then the second runs after everything was freed.
    key           whose size it is; called with the decorated function's arguments, or with none in a loop. By default "train" where
                  gradients are recorded and "eval" where not, so that neither shrinks the other.
    before_retry  called before each further attempt, on every rank: optimizer.zero_grad, for example.
    argument      the parameter by which a decorated function gets the size; "size" by default.
    group, agree, timeout_s
                  the ranks that agree before any of them repeats: all of the job by default, none with agree=False. timeout_s bounds
                  how long a rank waits for the slowest. docs/python/retry_on_oom.md says what an attempt must not contain then.

    Raises what the attempt raised, with a note of what was tried, when it isn't a lack of memory, when there is no smaller size or no
    attempt left, or when CUDA is in an error state. Raises RankError on a rank whose own attempt succeeded while another gave up.
    What before_retry raises is raised with the lack of memory as its cause.
    The object's report tells what happened; so does the logger "ullage".
    """
    if function is not None:
        checks.decorated("what retry_on_oom() decorates", function, hint="retry_on_oom(size=...) is what is made smaller")
    retry: Retry[T] = Retry(size=size, floor=floor, shrink=shrink, attempts=attempts, key=key, before_retry=before_retry,
                            argument=argument, ranks=Ranks(group, timeout_s, agree))
    return retry if function is None else retry(function)


class Retry(Generic[T]):
    """What retry_on_oom returns: iterate over it, or decorate a function with it. Remembers the sizes that worked."""

    def __init__(
        self,
        *,
        size: Optional[T] = None,
        floor: Optional[int] = None,
        shrink: Optional[Callable[[Any], Any]] = None,
        attempts: Optional[int] = None,
        key: Optional[Callable[..., Hashable]] = None,
        before_retry: Optional[Callable[[], object]] = None,
        argument: Optional[str] = None,
        ranks: Optional[Ranks] = None,
    ) -> None:
        self.size, self.floor = _size_and_floor(size, floor, shrink)
        self.shrink = checks.optional(checks.function, "shrink", shrink, given="the size that failed")
        self.attempts = _attempts(attempts, 2 if size is None and shrink is None else 10)
        self.key = _any_arguments(grad_mode) if key is None else _hashable(checks.function("key", key))
        self.before_retry = checks.optional(checks.function, "before_retry", before_retry, given="nothing", arguments=0)
        self.argument, self.ranks = _argument(argument, size), ranks or Ranks()
        self._argument_given = argument is not None
        self.sizes: dict[Hashable, T] = {}  # that were shrunk to, by key
        self.report: Optional[Report] = None  # of the newest run of attempts; None before the first
        self.survived = 0  # failures that a later attempt made good

    def forget(self) -> None:
        """Begins with the first size again, for every key: memory may have become free."""
        self.sizes.clear()

    def __iter__(self) -> Iterator[Attempt[T]]:
        if self.size is None and self.shrink is not None:
            raise ValueError("a loop shrinks a size: give retry_on_oom(size=...)")
        if self._argument_given:
            raise ValueError(f"argument is {self.argument!r}, but a loop passes no argument: its size is attempt.size")
        key = self.key()
        return Run(self, key, cast(T, self.sizes.get(key, self.size))).attempts()

    def __call__(self, function: Callable[..., R]) -> Callable[..., R]:
        checks.decorated("what retry_on_oom() decorates", function)
        if checks.runs_later(function):
            raise TypeError(f"{checks.called(function)} runs only after it was called. hint: use retry_on_oom as a loop within it")
        signature = inspect.signature(function)
        call = self._call_by_size if self.size is not None else self._call_by_arguments
        if self.size is not None and not _accepts(signature, self.argument):
            raise TypeError(
                f"{checks.called(function)} has no parameter {self.argument!r} that can be given by name. hint: argument= names the one that"
                " gets the size")

        @functools.wraps(function)
        def repeated(*args: Any, **kwargs: Any) -> R:
            return cast(R, call(function, signature, args, kwargs))

        setattr(repeated, "retry", self)  # for its report
        return repeated

    def _call_by_size(self, function: Callable[..., Any], signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if self.argument in kwargs:
            raise TypeError(f"{checks.called(function)} gets {self.argument!r} from retry_on_oom, not from its caller")
        key = self.key(*args, **kwargs)
        run = Run(self, key, cast(T, self.sizes.get(key, self.size)))
        return run.call(lambda size: function(*args, **{**kwargs, self.argument: size}))

    def _call_by_arguments(self, function: Callable[..., Any], signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        run = Run(self, self.key(*args, **kwargs), cast(T, dict(bound.arguments)), shrink=self._shrink_arguments, remember=False)
        return run.call(lambda arguments: function(*(b := _bind(signature, cast(Any, arguments))).args, **b.kwargs))

    def _shrink_arguments(self, arguments: Any) -> Any:
        changed = self.shrink(dict(arguments)) if self.shrink is not None else {}
        if changed is None:
            return None
        if not isinstance(changed, Mapping):
            raise checks.wrong("what shrink returned", changed, "a dict of the arguments that change, or None where there is no less")
        unknown = set(changed) - set(arguments)
        if unknown:
            raise ValueError(f"shrink returned {', '.join(sorted(map(str, unknown)))}, which is no parameter of the function")
        if self.shrink is not None and all(same(value, arguments[name]) for name, value in changed.items()):
            return None
        return {**arguments, **changed}


def _size_and_floor(size: Any, floor: Any, shrink: Any) -> tuple[Any, int]:
    """The size, as an int where it is a whole number, and the floor: 1 unless one is given, which only such a size can have."""
    least = checks.optional(checks.whole, "floor", floor, least=1)
    if isinstance(size, bool) or checks.index(size) is not None:
        first = checks.whole("size", size, least=1)
        if least is not None and least > first:
            raise ValueError(f"floor is {least}, but has to be at most the size, {first}")
        return first, least or 1
    if size is not None and shrink is None:
        raise ValueError(
            f"size is {checks.shown(size)}, but has to be a whole number. hint: another one needs shrink=, a function from the size that"
            " failed to the next")
    if least is not None:
        raise ValueError(f"floor is {least}, but there is no size of a number that it could bound. hint: give size=")
    return size, 1


def _attempts(given: Any, usual: int) -> int:
    return usual if given is None else checks.whole("attempts", given, least=1)


def _argument(given: Any, size: Any) -> str:
    if given is None:
        return "size"
    if size is None:
        raise ValueError(f"argument is {checks.shown(given)}, but there is no size that it could get. hint: give size=")
    return checks.text("argument", given)


def _accepts(signature: inspect.Signature, name: str) -> bool:
    """Whether a function takes an argument of this name: as a parameter of its own, or among its **kwargs."""
    kinds = {p.kind for p in signature.parameters.values()}
    own = signature.parameters.get(name)
    named = own is not None and own.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return named or inspect.Parameter.VAR_KEYWORD in kinds


def _bind(signature: inspect.Signature, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
    bound = signature.bind_partial()
    bound.arguments.update(arguments)
    return bound


def _hashable(key: Callable[..., Any]) -> Callable[..., Hashable]:
    """A key function that refuses what no size can be found again by: a tensor is equal to none but itself."""

    @functools.wraps(key)
    def checked(*args: Any, **kwargs: Any) -> Hashable:
        found: Hashable = key(*args, **kwargs)
        expected = "text, a number, or a tuple of them"
        if checks.is_tensor(found):
            raise checks.wrong("what key returned", found, expected, "its .item()")
        try:
            hash(found)
        except TypeError:
            raise checks.wrong("what key returned", found, expected) from None
        return found

    return checked


def _any_arguments(function: Callable[[], Hashable]) -> Callable[..., Hashable]:
    return lambda *args, **kwargs: function()
