"""A callback for Lightning, by either of its names: lightning.pytorch or pytorch_lightning."""
from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Optional

from .. import _checks as checks
from .._leaks.watch import Watch, given_or_new
from .series import Series

_NAMES = ("lightning.pytorch", "pytorch_lightning")


def _base() -> Any:
    """Callback of the distribution that the program has imported, or else of the first that is installed."""
    for name in sorted(_NAMES, key=lambda n: n not in sys.modules):
        try:
            return importlib.import_module(name).Callback
        except ModuleNotFoundError as e:
            if e.name not in name.split(".")[0:1]:
                raise
    raise ModuleNotFoundError(f"LightningCallback needs {' or '.join(_NAMES)}, and neither is installed")


if TYPE_CHECKING:
    Base = object
else:
    Base = _base()


class LightningCallback(Base):
    """Watches a Trainer's steps for memory that grows, and logs the allocator's counters.

        trainer = Trainer(..., callbacks=[LightningCallback()])

    log    what the counters go to, as for Series; without it to the Trainer's own loggers, at every log_every_n_steps
    watch  as made by ullage.watch(); its findings are at `watch.found`. Training steps and validation steps are watched each by themselves
    """

    def __init__(self, log: Any = None, *, watch: Optional[Watch] = None, every_seconds: float = 10.0) -> None:
        super().__init__()
        self.watch = given_or_new(watch)
        self.every_seconds = checks.seconds("every_seconds", every_seconds)
        self.series = [] if log is None else [Series(log, every_seconds=every_seconds)]
        self._own_loggers = log is None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if self._own_loggers:
            every = max(1, int(trainer.log_every_n_steps))
            self.series = [Series(logger, every_seconds=self.every_seconds, every_steps=every) for logger in trainer.loggers]

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.watch.step("step")
        for series in self.series:
            series.step(trainer.global_step)

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0,
    ) -> None:
        if not trainer.sanity_checking:
            self.watch.step("validation step")
