"""What every remedy can be told of a program as it runs."""
from __future__ import annotations

from typing import Any

from torch.nn import Module


class Remedy:
    """A change to how a program uses memory. `places` counts what was changed, `did` says it, or why there was nothing to change."""

    def __init__(self, did: str) -> None:
        self.places, self.did = 0, did

    def install(self) -> None:
        """Puts in place what is needed before the program begins."""

    def before_call(self, module: Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Is told before each call of an outermost module, and returns what is passed in place of its arguments."""
        return args, kwargs
