"""A tracker for Accelerate."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .. import _checks as checks
from .._leaks.watch import Watch, given_or_new
from .series import Series

if TYPE_CHECKING:
    Base = object
else:
    from accelerate.tracking import GeneralTracker as Base


class AccelerateTracker(Base):
    """Watches for memory that grows, and logs the allocator's counters, whenever the program logs.

        accelerator = Accelerator(log_with=["tensorboard", AccelerateTracker(log=writer)])
        accelerator.init_trackers("run")
        ...
        accelerator.log({"loss": loss.item()}, step=step)     # once a step

    log    what the counters go to, as for Series; without it memory is watched only
    watch  as made by ullage.watch(); its findings are at `watch.found`

    Runs on all processes, since each has a GPU of its own. Without a tracker, Series(accelerator) logs through all trackers of a program.
    """

    name = "ullage"
    requires_logging_directory = False
    main_process_only = False

    def __init__(self, log: Any = None, *, watch: Optional[Watch] = None, every_seconds: float = 10.0) -> None:
        super().__init__()
        self.watch = given_or_new(watch)
        every_seconds = checks.seconds("every_seconds", every_seconds)
        self.series = None if log is None else Series(log, every_seconds=every_seconds)

    @property
    def tracker(self) -> Watch:
        return self.watch

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """There is nothing of a run's settings to keep."""

    def log(self, values: dict[str, Any], step: Optional[int] = None, **kwargs: Any) -> None:
        """Takes one step. The values are the program's, and go to its other trackers."""
        self.watch.step("step")
        if self.series is not None:
            self.series.step(step)
