"""The attempts at one thing, from the first to the one that succeeds or is the last, on all ranks in step.

An attempt is over before the next begins: the error is swallowed at the end of its `with` block, so that no handler is active any
more, and its frames are cleared, so that nothing of the failed step is referred to when memory is asked for again.
"""
from __future__ import annotations

import contextlib
import logging
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Generic, Hashable, Iterator, Optional, TypeVar, cast

from .. import _checks as checks
from .. import _units
from .._torch import memory
from . import failure
from .ranks import RankError, worst
from .report import Failure, Report, words

if TYPE_CHECKING:
    from .retry import Retry

T = TypeVar("T")

log = logging.getLogger("ullage")

# What a rank says of its attempt, in the order in which it weighs.
_DONE, _AGAIN, _GAVE_UP, _ERROR = range(4)
_GIVES_UP = {_GAVE_UP: "gave up after running out of memory", _ERROR: "failed with an error that isn't a lack of memory"}


class Run(Generic[T]):
    """The attempts at one thing, from the first to the one that succeeds or is the last."""

    def __init__(
        self, retry: Retry[Any], key: Hashable, size: T, shrink: Optional[Callable[[T], Optional[T]]] = None, remember: bool = True
    ) -> None:
        self.retry, self.key, self.size, self.remember = retry, key, size, remember
        self.shrink = shrink or self._shrink_size
        self.report = retry.report = Report(key=key)
        self.over = False
        self.lack: Optional[BaseException] = None  # of memory, in the attempt that has just failed; without its frames
        retry.ranks.meet()

    def attempts(self) -> Iterator[Attempt[T]]:
        for number in range(1, self.retry.attempts + 1):
            attempt = Attempt(self, number, self.size)
            try:
                yield attempt
            except GeneratorExit:
                if attempt.left and not self.over:
                    log.error("ullage: the loop was left inside `with attempt`, but another rank has to repeat it: break after the block")
                raise
            if not attempt.left:
                raise RuntimeError("an attempt of retry_on_oom() was not entered: write `with attempt:` around what may run out of memory")
            if self.over:
                return
            self._recover()

    def call(self, function: Callable[[T], Any]) -> Any:
        """Runs function until an attempt succeeds, and returns its result."""
        for attempt in self.attempts():
            with attempt:
                result = function(attempt.size)
            if self.over:
                return result
            result = None  # of a rank that succeeded where another did not
        raise AssertionError("the last attempt either succeeds or raises")

    def finish(self, attempt: Attempt[T], exc: Optional[BaseException], handled: Optional[BaseException], held: tuple[str, ...]) -> bool:
        """Decides, with the other ranks, what comes after an attempt. Returns whether exc is to be swallowed."""
        try:
            code, smaller, message = self._judge(attempt.number, exc, handled)
        except Exception:  # of the caller's shrink
            self.over = True  # with that error: nobody repeats anything
            worst(self.retry.ranks, _ERROR, None)
            raise
        try:
            code_of_all, rank, agreed = worst(self.retry.ranks, code, smaller if isinstance(smaller, int) else None)
        except RankError as err:
            self._end(False, str(err))
            if exc is None:
                raise
            failure.note(exc, f"ullage: {err}")
            return False
        if code_of_all == _AGAIN:
            self._go_on(message, smaller, agreed, held)
            if exc is not None:
                failure.let_go(exc, handled)
                self.lack = failure.lack_in(exc, handled)
            return True
        if code == _AGAIN:  # it would, but another rank can't
            self.report.failures.append(Failure(self._shown(), message))
        self._conclude(code, code_of_all, rank, exc)
        return False

    def _judge(self, number: int, exc: Optional[BaseException], handled: Optional[BaseException]) -> tuple[int, Optional[T], Optional[str]]:
        """What this rank says of its attempt, the size that it would go on with, and the message that means a lack of memory."""
        if exc is None:
            return _DONE, None, None
        message = failure.message_of(exc, handled)
        if message is None:
            return _ERROR, None, None
        reason = failure.broken()
        smaller = None if reason else self.shrink(self.size)
        if reason is None and smaller is None and self.size is not None:
            reason = f"there is no size below {words(self.size)}" if self.remember else "shrink makes no argument smaller"
        if reason is None and number >= self.retry.attempts:
            reason = f"the {number} attempts are used up"
        if reason is None:
            return _AGAIN, smaller, message
        self.report.failures.append(Failure(size=self._shown(), message=message))
        self.report.reason = reason
        return _GAVE_UP, None, message

    def _go_on(self, message: Optional[str], smaller: Optional[T], agreed: Optional[int], held: tuple[str, ...]) -> None:
        """Notes the failure, of this rank or of another, and takes the size that all go on with."""
        now = failure.reading()
        self.report.failures.append(Failure(self._shown(), message, now.allocated_bytes if now else None, held=held))
        if isinstance(self.size, int) and agreed is not None:
            # What is remembered is what failed somewhere, not that this rank happened to have a smaller batch.
            self.retry.sizes[self.key] = min(self.retry.sizes.get(self.key, agreed), agreed)
            self.size = cast(T, min(self.size, agreed))
            return
        self.size = smaller if smaller is not None else self.shrink(self.size) or self.size
        if self.remember and self.size is not None:
            self.retry.sizes[self.key] = self.size

    def _recover(self) -> None:
        """Frees what the failed attempt left, now that no handler and no frame refers to it."""
        before = failure.reading()
        memory.collect()
        failed, after = self.report.failures[-1], failure.reading()
        if before and after:
            failed.freed_bytes = (failed.allocated_bytes or 0) - after.allocated_bytes
            failed.cache_bytes = before.reserved_bytes - after.reserved_bytes
        shown = self._shown()
        log.warning("ullage: %s; going on%s%s%s", failed.message or "another rank ran out of memory",
                    "" if shown is None else f" with {words(shown)}",
                    f"; {_units.size(failed.freed_bytes)} freed" if failed.freed_bytes else "",
                    f"; still bound by the function around it: {', '.join(failed.held)}" if failed.held else "")
        lack, self.lack = self.lack, None
        if self.retry.before_retry is not None:
            self._prepare(self.retry.before_retry, lack)

    def _prepare(self, before_retry: Callable[[], object], lack: Optional[BaseException]) -> None:
        """Has the program make ready for the next attempt. If it can't, the other ranks are told when they have made theirs."""
        handled = sys.exc_info()[1]
        try:
            before_retry()
        except Exception as err:
            self._end(False, f"before_retry raised {type(err).__name__}")
            failure.blame(err, lack, handled)
            failure.note(err, f"ullage: {self.report.text()}")
            with contextlib.suppress(RankError):  # they don't answer: its own error says more
                worst(self.retry.ranks, _ERROR, None)
            raise

    def _conclude(self, code: int, code_of_all: int, rank: int, exc: Optional[BaseException]) -> None:
        if code_of_all == _DONE:
            self.retry.survived += len(self.report.failures)
            return self._end(True, None)
        self._end(False, self.report.reason if code == code_of_all else f"rank {rank} {_GIVES_UP[code_of_all]}")
        if exc is None:
            raise RankError(f"this rank's attempt succeeded, but {self.report.reason}: its log has the error")
        if self.report.failures:
            failure.note(exc, f"ullage: {self.report.text()}")
            log.warning("ullage: %s", self.report.text())

    def _end(self, succeeded: bool, reason: Optional[str]) -> None:
        self.over, self.report.succeeded, self.report.reason, self.report.size = True, succeeded, reason, self._shown()

    def _shrink_size(self, size: T) -> Optional[T]:
        if size is None or isinstance(size, int) and size <= self.retry.floor:
            return None
        smaller = self.retry.shrink(size) if self.retry.shrink is not None else cast(int, size) // 2
        if smaller is None or same(smaller, size):  # as max(64, size // 2) gives at its end
            return None
        if not isinstance(size, int):
            return cast(T, smaller)
        smaller = checks.whole(f"what shrink returned for {size}", smaller, least=None, most=size - 1, hint="None ends the attempts")
        return cast(T, max(smaller, self.retry.floor))

    def _shown(self) -> Any:
        return self.size if self.remember else None


def same(a: Any, b: Any) -> bool:
    """Whether two sizes, or arguments, are equal. Those that can't be compared, as tensors, are if they are one object."""
    try:
        return a is b or bool(a == b)
    except Exception:
        return False


class Attempt(Generic[T]):
    """One attempt: `with attempt:` around what may run out of memory. number counts from 1; size is what to run with."""

    def __init__(self, run: Run[T], number: int, size: T) -> None:
        self.run, self.number, self.size = run, number, size
        self.entered = self.left = False  # the block has begun; has ended
        self.succeeded = False  # on all ranks

    def __enter__(self) -> Attempt[T]:
        if self.entered:
            raise RuntimeError("an attempt of retry_on_oom() was entered twice: all that may run out of memory goes into one block")
        self.entered = True
        self._handled = sys.exc_info()[1]
        return self

    def __exit__(self, kind: Optional[type[BaseException]], exc: Optional[BaseException], tb: Optional[TracebackType]) -> bool:
        self.left = True
        if exc is not None and not isinstance(exc, Exception):
            self.run.over = True  # an interrupt: the other ranks get theirs from the launcher
            return False
        # The frame around the block goes on, so what it has bound stays bound, and holds memory, while the next attempt runs.
        held = failure.names_with_graph(tb.tb_frame) if tb is not None else ()
        swallow = self.run.finish(self, exc, self._handled, held)
        self.succeeded = self.run.report.succeeded
        return swallow
