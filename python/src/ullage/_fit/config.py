"""What `ullage fit` asked for, and the folder in which it and the traced process meet."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

from .._companion.job import write_whole

VARIABLE = "ULLAGE_FIT"
DEVICES = "ULLAGE_FIT_DEVICES"  # how many GPUs a process of a launcher is shown, where those are more than the configuration says


@dataclass(frozen=True)
class Device:
    """The GPU that the program is shown. Sizes are bytes; what is not given is as on an H200."""

    name: str
    total_bytes: int
    major: int
    minor: int
    multiprocessors: int
    max_threads_per_multiprocessor: int = 2048
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 232448
    shared_memory_per_multiprocessor: int = 233472
    regs_per_multiprocessor: int = 65536
    l2_bytes: int = 62914560
    warp_size: int = 32

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, as (9, 0)."""
        return self.major, self.minor


@dataclass(frozen=True)
class Config:
    """What the flags of `ullage fit` say."""

    folder: str
    device: Device
    devices: int = 1  # how many GPUs the program is shown
    steps: int = 3  # optimizer steps after which the program is stopped
    calls: int = 3  # calls of a model without gradients after which it is stopped
    driver: int = 13000  # version of CUDA that the driver supports
    ranks: int = 0  # of the job, in place of what its launcher says; 0: as the launcher says
    rank: tuple[int, ...] = ()  # those that are traced; none: the first and the last
    raw: Mapping[str, Any] = field(default_factory=dict)

    def rank_numbers(self, world: int) -> list[int]:
        """The ranks of a job of world ranks that are traced: those asked for, or the first and the last, between which most jobs' needs lie."""
        return sorted({r for r in self.rank if r < world} if self.rank else {0, world - 1})


def load(environ: Mapping[str, str]) -> Optional[Config]:
    """Reads the configuration, or returns None in a process that is not traced.

    Raises OSError, ValueError, KeyError or TypeError where the folder is gone or is not ours.
    """
    folder = environ.get(VARIABLE)
    if not folder:
        return None
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        raw: dict[str, Any] = json.load(f)
    known = {k: v for k, v in raw["device"].items() if k in Device.__dataclass_fields__}
    numbers = {k: int(raw[k]) for k in ("devices", "steps", "calls", "driver", "ranks") if k in raw}
    numbers["devices"] = max(numbers.get("devices", 1), int(environ.get(DEVICES, 1)))
    return Config(folder=folder, device=Device(**known), rank=tuple(int(r) for r in raw.get("rank") or ()), raw=raw, **numbers)


class Problem(Exception):
    """Why a process cannot be traced: a kind of docs/formats/trace.md, what is wrong, and what to do."""

    def __init__(self, kind: str, message: str, hint: str = "", fault: str = "") -> None:
        super().__init__(message)
        self.kind, self.message, self.hint, self.fault = kind, message, hint, fault


def tell_problem(folder: str, problem: Problem) -> None:
    """Leaves word of a problem for `ullage fit`. Raises nothing: a folder that is gone is read by nobody."""
    value = {"kind": problem.kind, "message": problem.message, "hint": problem.hint, "fault": problem.fault, "pid": os.getpid()}
    try:
        write_whole(os.path.join(folder, f"problem-{os.getpid()}.json"), json.dumps(value).encode())
    except (OSError, ValueError):
        pass
