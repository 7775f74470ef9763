"""retry_on_oom: what ran out of memory is repeated with less, on all ranks or on none."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Generic, Hashable, Iterator, Mapping, Optional, TypeVar, Union, cast, overload

from .attempts import Attempt, Run
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
    function: None = None, *, size: Optional[T] = None, floor: int = 1, shrink: Optional[Callable[[Any], Any]] = None,
    attempts: Optional[int] = None, key: Optional[Callable[..., Hashable]] = None, before_retry: Optional[Callable[[], object]] = None,
    argument: str = "size", group: Any = None, agree: bool = True, timeout_s: float = 300.0,
) -> Retry[T]: ...
def retry_on_oom(
    function: Optional[Callable[..., R]] = None, *, size: Optional[T] = None, floor: int = 1, shrink: Optional[Callable[[Any], Any]] = None,
    attempts: Optional[int] = None, key: Optional[Callable[..., Hashable]] = None, before_retry: Optional[Callable[[], object]] = None,
    argument: str = "size", group: Any = None, agree: bool = True, timeout_s: float = 300.0,
) -> Union[Retry[T], Callable[..., R]]:
    """Repeats what runs out of GPU memory, each time with less. As a loop, or as a decorator:

        sizes = retry_on_oom(size=64, floor=4)           @retry_on_oom(size=64, floor=4)
        for batch in loader:                             def step(batch, *, size):
            for attempt in sizes:                            ...
                with attempt:
                    step(batch, attempt.size)            step(batch)

    size          what is made smaller: a number of anything, or any value that shrink understands. The size that worked is
                  remembered by the object, for each key separately.
    floor         the smallest size to try, where size is an integer.
    shrink        from the size that failed to the next one, or None when there is none; half by default. A decorator without a size
                  gets a dict of the call's arguments by name instead, and returns the changed ones. On several ranks it has to give
                  the same on all of them.
    attempts      how many in all; 10, or 2 where there is nothing to shrink: then the second runs after everything was freed.
    key           whose size it is; called with the decorated function's arguments, or with none in a loop. By default "train" where
                  gradients are recorded and "eval" where not, so that neither shrinks the other.
    before_retry  called before each further attempt, on every rank: optimizer.zero_grad, for example.
    argument      the parameter by which a decorated function gets the size.
    group, agree, timeout_s
                  the ranks that agree before any of them repeats: all of the job by default, none with agree=False. timeout_s bounds
                  how long a rank waits for the slowest. docs/python/retry_on_oom.md says what an attempt must not contain then.

    Raises what the attempt raised, with a note of what was tried, when it isn't a lack of memory, when there is no smaller size or no
    attempt left, or when CUDA is in an error state. Raises RankError on a rank whose own attempt succeeded while another gave up.
    The object's report tells what happened; so does the logger "ullage".
    """
    retry: Retry[T] = Retry(size=size, floor=floor, shrink=shrink, attempts=attempts, key=key, before_retry=before_retry,
                            argument=argument, ranks=Ranks(group, timeout_s, agree))
    return retry if function is None else retry(function)


class Retry(Generic[T]):
    """What retry_on_oom returns: iterate over it, or decorate a function with it. Remembers the sizes that worked."""

    def __init__(
        self,
        *,
        size: Optional[T] = None,
        floor: int = 1,
        shrink: Optional[Callable[[Any], Any]] = None,
        attempts: Optional[int] = None,
        key: Optional[Callable[..., Hashable]] = None,
        before_retry: Optional[Callable[[], object]] = None,
        argument: str = "size",
        ranks: Optional[Ranks] = None,
    ) -> None:
        if not isinstance(floor, int):
            raise TypeError(f"floor is {floor!r}, but has to be a whole number")
        if isinstance(size, int) and not 1 <= floor <= size:
            raise ValueError(f"floor is {floor}, but has to be at least 1 and at most the size, {size}")
        if size is not None and not isinstance(size, int) and shrink is None:
            raise ValueError(f"a size of type {type(size).__name__} needs shrink=: a function from the size that failed to the next")
        if attempts is None:
            attempts = 10 if size is not None or shrink is not None else 2
        if attempts < 1:
            raise ValueError(f"attempts is {attempts}, but there has to be one")
        self.size, self.floor, self.shrink, self.attempts, self.key = size, floor, shrink, attempts, key or _any_arguments(grad_mode)
        self.before_retry, self.argument, self.ranks = before_retry, argument, ranks or Ranks()
        self.sizes: dict[Hashable, T] = {}  # that were shrunk to, by key
        self.report: Optional[Report] = None  # of the newest run of attempts; None before the first
        self.survived = 0  # failures that a later attempt made good

    def forget(self) -> None:
        """Begins with the first size again, for every key: memory may have become free."""
        self.sizes.clear()

    def __iter__(self) -> Iterator[Attempt[T]]:
        if self.size is None and self.shrink is not None:
            raise ValueError("a loop shrinks a size: give retry_on_oom(size=...)")
        key = self.key()
        return Run(self, key, cast(T, self.sizes.get(key, self.size))).attempts()

    def __call__(self, function: Callable[..., R]) -> Callable[..., R]:
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError(f"{function.__name__}() runs only after it was called. hint: use retry_on_oom as a loop within it")
        signature = inspect.signature(function)
        call = self._call_by_size if self.size is not None else self._call_by_arguments
        if self.size is not None and not _accepts(signature, self.argument):
            raise TypeError(f"{function.__name__}() has no parameter {self.argument!r}. hint: argument= names the one that gets the size")

        @functools.wraps(function)
        def repeated(*args: Any, **kwargs: Any) -> R:
            return cast(R, call(function, signature, args, kwargs))

        setattr(repeated, "retry", self)  # for its report
        return repeated

    def _call_by_size(self, function: Callable[..., Any], signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if self.argument in kwargs:
            raise TypeError(f"{function.__name__}() gets {self.argument!r} from retry_on_oom, not from its caller")
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
        unknown = set(changed) - set(arguments)
        if unknown:
            raise ValueError(f"shrink returned {', '.join(sorted(unknown))}, which is no parameter of the function")
        return {**arguments, **changed}


def _accepts(signature: inspect.Signature, name: str) -> bool:
    return name in signature.parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in signature.parameters.values())


def _bind(signature: inspect.Signature, arguments: Mapping[str, Any]) -> inspect.BoundArguments:
    bound = signature.bind_partial()
    bound.arguments.update(arguments)
    return bound


def _any_arguments(function: Callable[[], Hashable]) -> Callable[..., Hashable]:
    return lambda *args, **kwargs: function()
