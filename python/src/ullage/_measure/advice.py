"""What a preflight warns of: what costs memory, or the run, later on. Only what matters for memory is among it."""
from __future__ import annotations

import os
from typing import Any, Optional, Sequence

from .. import _units
from .._torch import memory
from . import settings
from .outlook import Warned
from .rehearsal import Step

NEARLY_FULL = 0.92  # of the capacity, at the peak: batches of other lengths, evaluation and libraries want something too
FRAGMENTED = 0.10  # share of what is held from the driver and can be neither used nor given back
OUTSIDE_BYTES = 1536 << 20  # more than one process's own context and libraries take, which is 0.3 to 1 GiB


def of_device(torch: Any, device: int, outside_bytes: int) -> list[Warned]:
    """What the settings, the limit and the others on a device mean for the run."""
    limit = memory.limit_bytes(device)
    asked = any(os.environ.get(name) for name in settings.VARIABLES)
    found = settings.check(torch.__version__, os.environ, settings.in_force(torch) if asked else None, limit)
    if limit is not None:
        found.append(Warned("oom/fraction-cap", f"a memory fraction is set: this process can have {_units.size(limit)} of the device"))
    if outside_bytes > OUTSIDE_BYTES:
        found.append(Warned(
            "oom/other-process",
            f"{_units.size(outside_bytes)} of the device are in use outside of this process's allocator:"
            " its CUDA context and libraries, and other processes, which nvidia-smi lists"))
    return found


def of_peak(later_bytes: Optional[int], capacity_bytes: int) -> list[Warned]:
    """Whether the later peak leaves little."""
    if later_bytes is None or not NEARLY_FULL * capacity_bytes < later_bytes <= capacity_bytes:
        return []
    share = later_bytes / capacity_bytes
    return [Warned(
        "oom/true-shortage",
        f"the peak is {share:.0%} of what this process can have: a longer batch, an evaluation or fragmentation can use up the rest")]


def of_steps(steps: Sequence[Step]) -> list[Warned]:
    """What the steps of the batch itself showed besides their peaks."""
    last, found = steps[-1], []
    if last.fits and last.inactive_bytes > FRAGMENTED * last.reserved_bytes:
        found.append(Warned(
            "oom/fragmentation",
            f"{_units.size(last.inactive_bytes)} of {_units.size(last.reserved_bytes)} held from the driver are pieces between tensors"
            " in use: try expandable_segments:True"))
    if any(step.fits and step.retries for step in steps):
        found.append(Warned(
            "oom/true-shortage", "the allocator had to flush its cache to go on, which is slow and happens again near the limit"))
    if len(steps) == 2 and last.fits and last.end_bytes > steps[0].end_bytes:
        more = _units.size(last.end_bytes - steps[0].end_bytes)
        found.append(Warned(
            "leak/too-short-to-tell",
            f"{more} more are allocated after the second step than after the first: ullage.watch() tells whether that goes on"))
    return found
