"""Tells the agent of this process's allocator, from the program's first use of CUDA on, and takes the limits that it answers with.

The agent sees by the driver what a process holds on a GPU in all; what of that is PyTorch's, and what of that is in use, only
the process itself can tell. An agent that is gone is tried again, ever less often: meanwhile the last limits stay.
"""
from __future__ import annotations

import http.client
import os
import threading
from typing import Any, Mapping, Optional

from .._torch import api, steps, uuids
from . import job
from .agent import Agent, Refused
from .limits import Limits

HURRY_SECONDS = 0.01  # between two looks whether the initialisation of CUDA, which all this begins within, is over
MIN_PERIOD_SECONDS, MAX_PERIOD_SECONDS = 0.05, 60.0  # that an agent may ask for
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0
END_SECONDS = 0.5  # that the end of a process waits for its last report, and as long again for one that hangs to be given up

# Name in a report: key of torch.cuda.memory_stats().
FIELDS: Mapping[str, str] = {
    "allocated_bytes": "allocated_bytes.all.current",
    "reserved_bytes": "reserved_bytes.all.current",
    "active_bytes": "active_bytes.all.current",
    "inactive_split_bytes": "inactive_split_bytes.all.current",
    "requested_bytes": "requested_bytes.all.current",
    "peak_allocated_bytes": "allocated_bytes.all.peak",
    "peak_reserved_bytes": "reserved_bytes.all.peak",
    "ooms": "num_ooms",
    "alloc_retries": "num_alloc_retries",
}


class Reporter:
    """Reports for one process, from a thread of its own. begin and end are for the main thread; neither raises."""

    def __init__(self, torch: Any, config: job.Config, limits: Limits, meeting: job.Meeting, counted: steps.Steps) -> None:
        self._torch, self._config, self._limits, self._meeting, self._steps = torch, config, limits, meeting, counted
        self._agent = Agent(config.socket)
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._retry = FIRST_RETRY_SECONDS

    def begin(self) -> None:
        self._steps.begin()
        self._thread = threading.Thread(target=self._loop, name="ullage-report", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._stop.set()
        if self._thread is None or self._thread is threading.current_thread():
            return
        self._thread.join(END_SECONDS)
        self._agent.stop()  # it waits for an agent that does not answer
        self._thread.join(END_SECONDS)

    def forget(self) -> None:
        """Drops what a forked child has of its parent: the connection is the parent's."""
        try:
            self._agent.close()
        except Exception:
            pass

    def _loop(self) -> None:
        pid, pause = os.getpid(), HURRY_SECONDS
        while not self._stop.wait(pause) and os.getpid() == pid:
            try:
                pause = self._turn()
            except Exception as e:
                if self._stop.is_set():
                    return
                self._meeting.problem(f"reports to the agent have ended: {type(e).__name__}: {e}")
                return
        if os.getpid() == pid and self._retry == FIRST_RETRY_SECONDS:
            self._last_word()

    def _last_word(self) -> None:
        """A report at the end of the process, to an agent that has answered the last one: the error that ends a program comes after it."""
        try:
            self._turn()
        except Exception:
            pass

    def _turn(self) -> float:
        """One report; returns how long to wait for the next, in seconds."""
        if not self._torch.cuda.is_initialized():
            return HURRY_SECONDS
        try:
            advice = self._agent.report(self._report())
            self._take(advice)
        except Refused as e:
            if self._config.lease and e.status not in (429, 503):  # else nobody asked for reports; or it is busy, or has not begun
                self._meeting.problem(f"the agent takes no report: {e}")
            return self._later()
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            return self._later()
        self._steps.ask()
        self._retry = FIRST_RETRY_SECONDS
        return min(MAX_PERIOD_SECONDS, max(MIN_PERIOD_SECONDS, int(advice["period_ms"]) / 1000))

    def _later(self) -> float:
        now, self._retry = self._retry, min(LAST_RETRY_SECONDS, 2 * self._retry)
        return now

    def _take(self, advice: Mapping[str, Any]) -> None:
        for limit in advice.get("limits") or ():
            self._limits.advise(str(limit["device"]), int(limit["bytes"]), int(limit["epoch"]))
        self._limits.keep(anew=True)

    def _report(self) -> dict[str, Any]:
        """What the agent is told: api.md has the fields. Those that are not known are missing."""
        rank = api.distributed_rank()
        report: dict[str, Any] = {"job": self._config.job, "devices": self._devices()}
        known = {"rank": rank if rank is not None else job.rank(os.environ), "local_rank": job.local_rank(os.environ), "step": self._steps.count()}
        report.update({k: v for k, v in known.items() if v is not None})
        return report

    def _devices(self) -> list[dict[str, Any]]:
        """Those on which this process has something, and the one that is its own."""
        own, sample, rows = self._limits.own_device(), self._steps.sample(), []
        for device in range(self._torch.cuda.device_count()):
            used = device == own or api.has_context(self._torch, device)
            uuid = uuids.of(self._torch, device, os.environ) if used else ""
            if not uuid:
                continue
            row = {"device": uuid, **self._allocator(device)}
            if sample is not None and device in sample.allocated_bytes:
                row["after_step"] = {"step": sample.step, "allocated_bytes": sample.allocated_bytes[device]}
            rows.append(row)
        return rows

    def _allocator(self, device: int) -> dict[str, int]:
        stats = self._torch.cuda.memory_stats(device)
        return {**{name: int(stats.get(key, 0)) for name, key in FIELDS.items()}, "limit_bytes": self._limits.in_force.get(device, 0)}
