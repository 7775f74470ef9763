"""A callback for the Trainer of transformers."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .. import _checks as checks
from .._leaks.watch import Watch, given_or_new
from .series import Series, figures

if TYPE_CHECKING:
    Base = object
else:
    from transformers import TrainerCallback as Base


class TransformersCallback(Base):
    """Watches a Trainer's steps for memory that grows, and logs the allocator's counters.

        trainer = Trainer(..., callbacks=[TransformersCallback()])

    log    what the counters go to, as for Series; without it they are added to the Trainer's log_history at each of its logs. Its reports
           to TensorBoard and others are made before a callback of the program has its turn: give their writer here if they are to have them
    watch  as made by ullage.watch(); its findings are at `watch.found`. Training steps and evaluation steps are watched each by themselves
    """

    def __init__(self, log: Any = None, *, watch: Optional[Watch] = None, every_seconds: float = 10.0) -> None:
        self.watch = given_or_new(watch)
        every_seconds = checks.seconds("every_seconds", every_seconds)
        self.series = None if log is None else Series(log, every_seconds=every_seconds)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.watch.step("step")
        if self.series is not None:
            self.series.step(state.global_step)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.watch.step("evaluation step")

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.series is None and state.log_history:
            state.log_history[-1].update(figures())
