"""Watches one process from its first use of CUDA to its end.

What happens, in this order: recording is switched on; failures of the allocator are observed; a thread looks for requests and
writes counters; at the end a last recording is written if there is cause. Nothing here raises into the program, and nothing is
printed: what the user should know goes to `ullage run` (Meeting.problem).

The cache is flushed before PyTorch calls the observer. The recording still shows the state before: its events go back to
before the flush, and `ullage explain` replays them.
"""
from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from typing import Any, Optional

from .._torch import api, counters, memory, oomtext, steps
from . import dump, job
from .limits import Limits

TICK_SECONDS = 0.5  # between two looks for a request
# While a limit is asked for and it is not known which device the process will use: between two looks, of a microsecond for
# each device, whether it has one now; and for how long it is looked so often.
HURRY_SECONDS = 0.01
HURRY_FOR_SECONDS = 60.0
COUNTERS_SECONDS = 10.0  # between two lines of counters
COUNTERS_MAX_BYTES = 64 << 20  # of the file of counters of one process
# A program can survive many failures: cuDNN tries dozens of algorithms. The first is recorded at once, since it may be the
# last thing that the process does; the others at most so often, and the last one in any case when the process ends.
FAILURES_SECONDS = 60.0
FAILURES_MAX = 4


# What is missing where a step of watching fails, in words for the user.
_FAILED = {
    "_record": "events are not recorded",
    "_observe": "failures of the allocator are not noticed",
    "_limit": "the limit is not in force",
    "_hook_ends": "the end of the process is not noticed",
    "_report": "the agent is told nothing",
    "_start_thread": "no counters are written, and ullage snap is not answered",
    "_answer": "a request of ullage snap could not be answered",
    "_look": "counters or a limit are missing",
    "_last_look": "the last counters were not written",
}


class Watcher:
    """Watches this process. Its methods never raise."""

    def __init__(self, torch: Any, config: job.Config, meeting: job.Meeting) -> None:
        self.torch, self.config, self.meeting = torch, config, meeting
        self.steps = steps.Steps(torch)
        self.reporter: Any = None
        self._fresh()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._fresh)

    def _fresh(self) -> None:
        """The state of a process that has not used CUDA. A forked child begins with it: threads and locks of its parent are no use."""
        self.pid = 0  # of the process that is watched; 0 before CUDA is used
        self.dumper = dump.Dumper(self.config, self.torch)
        self.busy = threading.Lock()  # held while a recording is written
        self.failures = 0  # of the allocator, all
        self.unrecorded = 0  # failures since the last recording
        self.failed: Optional[dict[str, int]] = None  # the last failure
        self.last_failure_dump = 0.0
        self.last_failure_path: Optional[str] = None
        self.failure_dumps = 0
        self.budgets = sorted(self.config.budgets)
        self.reset_peak = 0  # the highest reserved peak that measuring in this process has set back
        self.limits = Limits(self.torch, self.config)
        self.steps.forget()
        if self.reporter is not None:
            self.reporter.forget()
            self.reporter = None
        self.stop = threading.Event()
        self.thread: Optional[threading.Thread] = None
        self.begun_at = self.looked_at = self.counters_at = 0.0
        self.counters_bytes = 0
        self.handled: Optional[tuple[int, str]] = None  # the error of which a recording was written; itself, it would hold its frames
        self.ended = False

    def begin(self) -> None:
        """Runs within the program's own initialisation of CUDA, right after it has succeeded."""
        try:
            if self.pid:
                return
            self.pid, self.begun_at = os.getpid(), time.monotonic()
            self.meeting.mark("cuda")
            for step in (self._record, self._observe, self._limit, self._report, self._hook_ends, self._start_thread):
                self._safely(step)
        except Exception:
            pass

    def _safely(self, step: Any) -> None:
        try:
            step()
        except Exception as e:
            self.meeting.problem(f"{_FAILED[step.__name__]}: {_why(e)}")

    def _mine(self) -> bool:
        return self.pid == os.getpid()

    # --- the beginning

    def _record(self) -> None:
        if self.config.history > 0:
            problem = api.record(self.torch, self.config.history)
            if problem:
                self.meeting.problem(problem)

    def _observe(self) -> None:
        if not api.on_out_of_memory(self.torch, self._on_failure):
            self.meeting.problem("this torch does not tell when an allocation fails; a recording is written if the error ends the program")
        if self.budgets:
            memory.on_reset(self._before_reset)

    def _before_reset(self, device: int, now: memory.Reading) -> None:
        self.reset_peak = max(self.reset_peak, now.peak_reserved_bytes)

    def _limit(self) -> None:
        if self.limits.lease_leaves() == 0:
            self.meeting.problem("the lease leaves nothing for PyTorch: a CUDA context alone is expected to take as much")
        self.limits.keep_own()

    def _report(self) -> None:
        """Begins to tell the agent, where there is one."""
        if self.config.socket:
            from .report import Reporter  # imports modules of the standard library that nothing else here needs

            self.reporter = Reporter(self.torch, self.config, self.limits, self.meeting, self.steps)
            self.reporter.begin()

    def _hook_ends(self) -> None:
        atexit.register(self._end)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:  # children of multiprocessing may end without Python's own exit functions
            util.Finalize(None, self._end, exitpriority=0)
        before = threading.excepthook

        def hook(args: Any) -> None:
            try:
                before(args)
            finally:
                self._on_uncaught(args.exc_value)

        threading.excepthook = hook

    def _start_thread(self) -> None:
        self.meeting.tell(f"proc-{self.pid}.json", {
            "pid": self.pid,
            "started": job.started(),
            "rank": job.rank(os.environ),
            "program": sys.argv[0] if getattr(sys, "argv", None) else "",
            "run": self.config.run,
        })
        self.thread = threading.Thread(target=self._loop, name="ullage", daemon=True)
        self.thread.start()

    # --- recordings

    def _dump(self, reason: str, **about: Any) -> Optional[str]:
        """Writes a recording; returns its path, or None with the reason told to the user."""
        try:
            return self._dump_or_raise(reason, **about)
        except Exception as e:
            self.meeting.problem(f"no recording was written ({reason}): {_why(e)}")
            return None

    def _dump_or_raise(self, reason: str, **about: Any) -> str:
        with self.busy:
            known = {"failed": self.failed, "failures": self.failures, "limits": self.limits.in_force, "limits_by": self.limits.by}
            path = self.dumper.dump(reason, {**known, **about})
            self.unrecorded = 0
            return path

    def _on_failure(self, device: int, asked: int, total: int, free: int) -> None:
        """PyTorch's observer. An exception here would take the place of the program's own error."""
        try:
            if not self._mine():
                return
            self.failures += 1
            self.unrecorded += 1
            self.failed = {"device": int(device), "asked_bytes": int(asked), "total_bytes": int(total), "free_bytes": int(free)}
            now = time.monotonic()
            due = self.failure_dumps == 0 or now - self.last_failure_dump >= FAILURES_SECONDS
            if due and self.failure_dumps < FAILURES_MAX and not self.busy.locked():
                self.failure_dumps += 1
                self.last_failure_path = self._dump("oom")
                self.last_failure_dump = time.monotonic()
        except Exception:
            pass

    def _on_uncaught(self, error: Optional[BaseException]) -> None:
        """An error that nobody caught: one of memory gets a recording that has its message."""
        try:
            found = oomtext.first_of(error)
            message = oomtext.message_of(found)
            if found is None or message is None or not self._mine() or self.handled == (id(found), message):
                return
            self.handled = id(found), message
            if self.last_failure_path and not self.unrecorded and oomtext.is_allocators(found):
                self.dumper.add_message(self.last_failure_path, message)
            else:
                self._dump("oom", message=message)
        except Exception:
            pass

    # --- the thread

    def _loop(self) -> None:
        while not self.stop.wait(self._pause()) and self._mine():
            for step in (self._answer, self._look):
                self._safely(step)

    def _pause(self) -> float:
        hurry = self.limits.waiting() and time.monotonic() - self.begun_at < HURRY_FOR_SECONDS
        return HURRY_SECONDS if hurry else TICK_SECONDS

    def _answer(self) -> None:
        """Writes a recording if `ullage snap` asks for one."""
        request = os.path.join(self.config.folder, f"snap-{self.pid}.json")
        if not os.path.exists(request):
            return
        try:
            with open(request, encoding="utf-8") as f:
                number = str(json.load(f)["id"])
        finally:
            os.unlink(request)
        answer = {"id": number, "recording": "", "error": ""}
        try:
            answer["recording"] = os.path.basename(self._dump_or_raise("snap"))
        except Exception as e:
            answer["error"] = _why(e)
        self.meeting.tell(f"snapped-{self.pid}.json", answer)

    def _look(self) -> None:
        """Keeps the limits at every tick, and looks at the counters: for budgets, and when a line is due."""
        if not self.torch.cuda.is_initialized():  # still within the call that began all this
            return
        self.limits.keep()
        now = time.monotonic()
        due = now - self.counters_at >= COUNTERS_SECONDS
        if not due and (not self.budgets or now - self.looked_at < TICK_SECONDS / 2):
            return
        self.looked_at = now
        used = api.used_devices(self.torch)
        self._check_budgets(used)
        if due and used:
            self.counters_at = now
            self._count(used)

    def _check_budgets(self, used: Any) -> None:
        """Peaks count: one between two looks is not missed, and the recording's history shows it."""
        peak = max([self.reset_peak, *(stats.get("reserved_bytes.all.peak", 0) for stats in used.values())])
        reached = [b for b in self.budgets if peak >= b]
        if reached:
            self.budgets = [b for b in self.budgets if b > peak]
            self._dump("budget")

    def _count(self, used: Any) -> None:
        """Adds a line for each device to the file of counters."""
        path = os.path.join(self.config.out, f"{self.config.job}_pid{self.pid}_counters.jsonl")
        rank = api.distributed_rank()
        head = {"time": job.timestamp(time.time()), "host": job.hostname(), "pid": self.pid, "rank": rank if rank is not None else job.rank(os.environ)}
        rows = [{**head, "device": d, **counters.of(stats)} for d, stats in used.items()]
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        if self.counters_bytes + len(data) > COUNTERS_MAX_BYTES:
            return
        os.makedirs(self.config.out, exist_ok=True)
        dump.require_room(self.config.out, len(data))
        with open(path, "ab") as f:
            f.write(data)
        self.counters_bytes += len(data)

    # --- the end

    def _end(self) -> None:
        """Runs when the process ends by itself, with whatever error ended it still at hand: Python keeps it in sys.last_value.

        That is why sys.excepthook is left alone: a program may replace it, and what it does there is its own affair. In a child
        of multiprocessing the error is still on its way up: it is printed once what is due at the end has run.
        """
        try:
            if self.ended or not self._mine():
                return
            self.ended = True
            self.stop.set()
            if self.reporter is not None:
                self.reporter.end()
            if self.thread is not None and self.thread is not threading.current_thread():
                self.thread.join(5.0)
            written = self.dumper.count
            self._on_uncaught(sys.exc_info()[1] or getattr(sys, "last_value", None))
            if self.unrecorded and self.handled is None:
                self._dump("oom")
            self._safely(self._last_look)
            if self.config.at_exit and self.dumper.count == written:
                self._dump("end")
            self.meeting.forget(f"proc-{self.pid}.json")
        except Exception:
            pass

    def _last_look(self) -> None:
        used = api.used_devices(self.torch)
        self._check_budgets(used)
        if used:
            self._count(used)


def _why(e: Exception) -> str:
    return str(e) if isinstance(e, dump.Refused) else f"{type(e).__name__}: {e}"
