"""Counts the program's optimizer steps, and looks at memory at the end of one: at other moments it goes up and down within a step.

The count is that of the optimizer that has stepped most: of a program with two in turn, each of its rounds counts once, and
memory is looked at after the same one of them.
"""
from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional

from . import api


@dataclass(frozen=True)
class Sample:
    """What was allocated right after a step."""

    step: int
    allocated_bytes: Mapping[int, int]  # by device


class Steps:
    """Counts from begin() on. None of it raises into the program."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._hooked = False
        self.forget()

    def forget(self) -> None:
        """Begins anew: in a forked child, whose parent's steps are not its own."""
        self._done: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = 0
        self._due = False
        self._sample: Optional[Sample] = None

    def begin(self) -> bool:
        """Has every optimizer tell of its steps. False: this torch can't."""
        if self._hooked:
            return True
        optimizer = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if register is None:
            return False
        hook = self._hook()
        _keep_compiler_off(self._torch, hook)
        register(hook)
        self._hooked = True
        return True

    def count(self) -> Optional[int]:
        """Steps so far, or None before the first: a program without an optimizer takes none."""
        return self._count or None

    def ask(self) -> None:
        """Has memory looked at after the next step: 0.1 ms, so not after every one."""
        self._due = True

    def sample(self) -> Optional[Sample]:
        """The latest look, once."""
        sample, self._sample = self._sample, None
        return sample

    def _hook(self) -> Callable[[Any, Any, Any], None]:
        def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            try:
                n = self._done.get(optimizer, 0) + 1
                self._done[optimizer] = n
                if n > self._count:
                    self._count = n
                    if self._due:
                        self._look()
            except Exception:
                pass

        return after_step

    def _look(self) -> None:
        self._due = False
        allocated = {d: int(s.get("allocated_bytes.all.current", 0)) for d, s in api.used_devices(self._torch).items()}
        self._sample = Sample(self._count, allocated)


def _keep_compiler_off(torch: Any, hook: Callable[..., None]) -> None:
    """Of a step that is compiled, torch.compile would compile the hook too, with guards on the count."""
    frames: Any = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    for function in (hook, Steps._look, api.used_devices):
        try:
            if hasattr(frames, "skip_code"):
                frames.skip_code(function.__code__)
            else:  # torch 2.7 and newer
                skip = frames._FrameAction.SKIP
                frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(skip, skip))
        except Exception:
            pass
