"""Writes recordings: whole or not at all, never so many or so large that they fill the disk.

A recording is what torch.cuda.memory._snapshot() returns, pickled. Beside it stands a small JSON file of the same name, which
says what the recording itself does not: the rank, the device's size, a limit, what was free, the message of the error.
"""
from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import time
from typing import Any, BinaryIO, Mapping, Optional

from .. import _units
from .._holders import census
from .._torch import api
from . import job

SCHEMA = 1
MAX_BYTES = 4 << 30  # of one recording: 30 million events and more
MAX_TOTAL_BYTES = 16 << 30  # of all that one process writes
MAX_COUNT = 32  # that one process writes
KEEP_FREE_BYTES = 1 << 30  # of the disk, or KEEP_FREE_SHARE of it where that is less
KEEP_FREE_SHARE = 0.05
CHECK_EVERY = 16 << 20  # bytes written between two looks at the disk


class Refused(Exception):
    """A recording was not written, for a reason that the user should know."""


class _Bounded:
    """A file for the pickler that gives up before the recording is too large or the disk full."""

    def __init__(self, file: BinaryIO, folder: str, cap: int) -> None:
        self._file, self._folder, self._cap = file, folder, cap
        self.written, self._checked = 0, -CHECK_EVERY

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self.written + size > self._cap:
            raise Refused(f"it would be larger than {self._cap >> 20} MiB, which is all that is left of the limits; keep less with --history")
        if self.written + size - self._checked >= CHECK_EVERY:
            require_room(self._folder, size)
            self._checked = self.written
        self.written += size
        return self._file.write(data)


def require_room(folder: str, size: int) -> None:
    """Raises Refused if size bytes more would leave less of the disk than is to be kept free."""
    disk = shutil.disk_usage(folder)
    keep = min(KEEP_FREE_BYTES, int(disk.total * KEEP_FREE_SHARE))
    if disk.free - size < keep:
        raise Refused(f"the disk of {folder} has {_units.size(disk.free)} free: {_units.size(size)} are to be written next, and"
                      f" {_units.size(keep)} are left alone")


def _sidecar(path: str) -> str:
    return path[: -len(".pickle")] + ".json"


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


class Dumper:
    """Writes the recordings of one process."""

    def __init__(self, config: job.Config, torch: Any) -> None:
        self.config, self.torch = config, torch
        self.count, self.total = 0, 0

    def dump(self, reason: str, about: Mapping[str, Any]) -> str:
        """Writes one recording, with about added to the file beside it, and returns its path.

        Raises Refused, OSError, or whatever torch raises.
        """
        if self.count >= MAX_COUNT:
            raise Refused(f"this process has written {MAX_COUNT} recordings already")
        self.count += 1
        os.makedirs(self.config.out, exist_ok=True)
        require_room(self.config.out, CHECK_EVERY)
        beside = self.describe(reason, about)  # before the recording is made: that takes longer, and memory
        path = self._free_name(beside["rank"], reason)
        beside["recording"] = os.path.basename(path)
        self._write(path, beside)
        return path

    def _write(self, path: str, beside: Mapping[str, Any]) -> None:
        self.total += write(self.torch, path, beside, min(MAX_BYTES, MAX_TOTAL_BYTES - self.total))

    def add_message(self, path: str, message: str) -> None:
        """Adds an error's message to what stands beside a recording that was written before the error had one."""
        sidecar = _sidecar(path)
        with open(sidecar, encoding="utf-8") as f:
            beside = json.load(f)
        beside["message"] = message
        job.write_whole(sidecar, _json(beside))

    def _free_name(self, rank: Optional[int], reason: str) -> str:
        """A name that nothing has yet: job, rank, process, second and reason."""
        now = int(time.time())
        while True:
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now))
            who = "" if rank is None else f"_rank{rank}"
            path = os.path.join(self.config.out, f"{self.config.job}{who}_pid{os.getpid()}_{stamp}_{reason}.pickle")
            if not os.path.lexists(path):
                return path
            now += 1

    def describe(self, reason: str, about: Mapping[str, Any]) -> dict[str, Any]:
        """What stands in the file beside a recording."""
        lease = self.config.lease
        of_lease = {"id": lease.id, "memory_bytes": lease.memory} if lease else None
        return {**describe(self.torch, reason, about, self.config.run, self.config.history), "number": self.count, "lease": of_lease}


def write(torch: Any, path: str, beside: Mapping[str, Any], max_bytes: int = MAX_BYTES) -> int:
    """Writes a recording of now and the file beside it, whole or not at all; returns the recording's size in bytes.

    Raises Refused if it would be larger than max_bytes or fill the disk, OSError, or whatever torch raises.
    """
    sidecar = _sidecar(path)
    folder, name = os.path.split(os.path.abspath(path))
    part = os.path.join(folder, f".{name}.{beside['run']}.part")  # the folder may be shared with other machines
    leftovers = [part]
    try:
        with open(part, "wb") as f:
            out = _Bounded(f, folder, max_bytes)
            pickle.Pickler(out, protocol=4).dump(torch.cuda.memory._snapshot())
        job.write_whole(sidecar, _json(beside))
        leftovers.append(sidecar)
        os.replace(part, path)  # last: where a recording is, what belongs to it is too
        return out.written
    except BaseException as error:
        if isinstance(error, OSError) and str(error.filename).endswith(".part"):
            error.filename = path  # the name that the caller knows
        for leftover in leftovers:
            try:
                os.unlink(leftover)
            except OSError:
                pass
        raise


def describe(torch: Any, reason: str, about: Mapping[str, Any], run: str, history: Optional[int]) -> dict[str, Any]:
    """What stands in the file beside a recording. history is None where it isn't known how many events are kept."""
    dist, limits, limits_by = api.distributed_rank(), about.get("limits") or {}, about.get("limits_by") or {}
    devices = [api.describe(torch, d, stats, limits.get(d)) for d, stats in api.used_devices(torch).items()]
    return {
        "ullage": SCHEMA,
        "recording": about.get("recording", ""),
        "run": run,
        "reason": reason,
        "time": job.timestamp(time.time()),
        "host": job.hostname(),
        "pid": os.getpid(),
        "rank": dist if dist is not None else job.rank(os.environ),
        "local_rank": job.local_rank(os.environ),
        "program": sys.argv[0] if getattr(sys, "argv", None) else "",
        "python": ".".join(str(n) for n in sys.version_info[:3]),
        "torch": str(getattr(torch, "__version__", "")),
        "history": history,
        "message": about.get("message"),
        "failed": about.get("failed"),
        "failures": about.get("failures", 0),
        "devices": [{**row, "limit_by": limits_by.get(row["device"])} for row in devices],
        "holders": census.take(torch),
    }
