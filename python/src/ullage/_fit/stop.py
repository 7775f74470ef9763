"""Ends the program once enough of it has been seen.

After the last step that is needed the trace is written out, and Stopped is raised where the program is: it is a SystemExit with
status 0, so that `finally` blocks, context managers and functions registered with atexit run as at any exit, no traceback is
printed, and `except Exception` does not catch it. In a thread that is not the main one it is SystemExit itself, of which Python prints
nothing there either. A program that catches it all the same is stopped again at its next step, and
ended outright at the third.
"""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable

TIMES = 3  # that a program is asked to end before it is ended
BACKWARD = 20  # passes after which a program is stopped that has no optimizer of torch.optim: more than it is likely to accumulate
FORWARD = 100  # calls of one module with gradients, and no backward pass, after which one is: more than the steps of a cell in a loop
EVALUATED = 500  # calls before its first step that a program with an optimizer may make, nanoGPT 400; and calls of one that generates tokens


class Stopped(SystemExit):
    """The prediction has seen what it needs."""

    def __init__(self) -> None:
        super().__init__(0)


def _is_generating() -> bool:
    """Whether a model is called token by token, so that what it keeps grows: by a function `generate`, as in transformers and nanoGPT."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "generate":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class Stopper:
    """Counts optimizer steps, calls of a model and backward passes, and ends the program after enough of either."""

    def __init__(self, steps: int, calls: int, finish: Callable[..., None]) -> None:
        self._steps, self._calls, self._finish = steps, calls, finish
        self._by_optimizer: dict[int, int] = {}
        self.calls = self.passes = 0  # calls of a model without gradients, and backward passes
        self._forwards: dict[int, int] = {}  # calls with gradients, by module
        self.may_train = False  # an optimizer was made: calls without gradients may be an evaluation, or a part that is frozen
        self._asked = 0

    @property
    def steps(self) -> int:
        """Steps of the optimizer that made most."""
        return max(self._by_optimizer.values(), default=0)

    def step(self, optimizer: Any) -> int:
        """Counts a step of an optimizer and returns how many it has made."""
        count = self._by_optimizer.get(id(optimizer), 0) + 1
        self._by_optimizer[id(optimizer)] = count
        return count

    def number(self, optimizer: Any) -> int:
        """The place of an optimizer among those that have stepped."""
        return list(self._by_optimizer).index(id(optimizer))

    def is_last(self) -> bool:
        """Whether every optimizer that has stepped has made as many steps as are needed, or one twice as many."""
        counts = self._by_optimizer.values()
        return bool(counts) and (min(counts) >= self._steps or max(counts) >= 2 * self._steps)

    def after_step(self) -> None:
        """Ends the program if this was the last step that is needed."""
        if self.is_last():
            self._end("steps")

    def after_call(self) -> int:
        """Counts a call without gradients and returns how many there were."""
        self.calls += 1
        return self.calls

    def after_calls(self) -> None:
        """Ends the program if it only calls a model, and has done so often enough. One that has an optimizer, or generates, is waited for."""
        enough = max(self._calls, EVALUATED) if self.may_train or _is_generating() else self._calls
        if not self._by_optimizer and self.calls >= enough:
            self._end("calls")

    def after_forward(self, module: int) -> None:
        """Counts a call with gradients enabled, and ends a program that makes nothing of them: it may only have left out no_grad."""
        count = self._forwards[module] = self._forwards.get(module, 0) + 1
        if not self.passes and not self.may_train and count >= FORWARD:
            self.calls = count
            self._end("calls")

    def after_backward(self) -> None:
        """Counts a backward pass, and ends the program if there were many without a step; one that has an optimizer may accumulate."""
        self.passes += 1
        if not self._by_optimizer and self.passes >= (EVALUATED if self.may_train else BACKWARD):
            self._end("backward")

    def _end(self, reason: str) -> None:
        self._asked += 1
        if self._asked == 1:
            self._finish(reason)
        if self._asked >= TIMES:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        raise Stopped() if threading.current_thread() is threading.main_thread() else SystemExit(0)
