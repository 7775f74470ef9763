"""What this process's allocator may reserve on each device: the least of what `--limit` says and what its lease leaves it.

A lease is for all that a job takes on a device: the allocators of its processes, their contexts, what other libraries allocate.
So a process begins with what is left of the lease besides a context, and the agent, which sees the others and the context's
real size, corrects that. Where the agent is silent the last limit stays.
"""
from __future__ import annotations

import os
import threading
from typing import Any, Optional

from .._torch import api, uuids
from . import job

TRIES = 3  # of setting a limit on a device


class Limits:
    """Sets limits and keeps them. Its methods are called by several threads, and raise what torch raises."""

    def __init__(self, torch: Any, config: job.Config) -> None:
        self._torch, self._config = torch, config
        self._lock = threading.RLock()
        self._advised: dict[str, int] = {}  # by the device's UUID: bytes
        self._epochs: dict[str, int] = {}  # of the advice
        self._set: dict[int, int] = {}  # by device: what was last set here
        self._failures: dict[int, int] = {}
        self.in_force: dict[int, int] = {}  # by device: bytes
        self.by: dict[int, str] = {}  # by device: what the limit in force is of: lease, run (its --limit) or program

    def asked(self) -> bool:
        """Whether there is anything to limit."""
        return bool(self._config.limit or self._config.lease)

    def waiting(self) -> bool:
        """Whether limits are asked for, and none is in force yet: it is not known which device the process will use."""
        return self.asked() and not self.in_force

    def lease_leaves(self) -> Optional[int]:
        """What a process may reserve before the agent has said anything; None without a lease, or where its size isn't known."""
        lease = self._config.lease
        return max(0, lease.memory - lease.context) if lease and lease.memory else None

    def own_device(self) -> Optional[int]:
        """The device that this process will use, where that is known before it has anything on one.

        It is the only one, or the one that the launcher gave to this rank.
        """
        count, local = self._torch.cuda.device_count(), job.local_rank(os.environ)
        if count == 1:
            return 0
        return local if local is not None and local < count else None

    def keep_own(self) -> None:
        """Limits the process's own device, before it has anything on it.

        Setting a limit makes a context on the device with some releases of torch, so it must be the right one. Else it is
        waited for the process to show which one it uses: contexts of all ranks on the first GPU have filled it before.
        """
        device = self.own_device() if self.asked() else None
        if device is not None:
            self._keep(device)

    def keep(self, anew: bool = False) -> None:
        """Limits the devices on which the program has made a context. anew: also those that have a limit, if it is another now."""
        if not self.asked():
            return
        for device in range(self._torch.cuda.device_count()):
            if anew if device in self.in_force else api.has_context(self._torch, device):
                self._keep(device)

    def advise(self, uuid: str, limit_bytes: int, epoch: int) -> None:
        """Takes what the agent says of a device; of an older lease than the last it said anything of, nothing."""
        with self._lock:
            oldest = self._config.lease.epoch if self._config.lease else 0
            if epoch >= self._epochs.get(uuid, oldest):
                self._epochs[uuid], self._advised[uuid] = epoch, max(0, limit_bytes)

    def _wanted(self, device: int) -> Optional[tuple[int, str]]:
        """The limit of a device in bytes, and what it is of."""
        uuid = uuids.of(self._torch, device, os.environ)
        bounds = [(self._advised.get(uuid, self.lease_leaves()), "lease"), (self._config.limit or None, "run")]
        known = [(b, of) for b, of in bounds if b is not None]
        return min(known) if known else None

    def _keep(self, device: int) -> None:
        with self._lock:
            bound = self._wanted(device)
            if bound is None or self._failures.get(device, 0) >= TRIES:
                return
            wanted, of = bound
            there, last = self._there(device), self._set.get(device)
            if there is not None and there < wanted and not _same(there, wanted) and not _same(there, last):
                wanted, of = there, "program"  # which has set less itself
            elif there is None or not _same(there, wanted):
                self._apply(device, wanted)
            self.in_force[device], self.by[device] = wanted, of

    def _there(self, device: int) -> Optional[int]:
        """What the allocator keeps now, or None without a limit."""
        last = self._set.get(device)
        if not api.tells_limit(self._torch):
            return last
        now = api.limit_of(self._torch, device) if device in self._set or api.has_context(self._torch, device) else None
        if now is None and last is not None and last >= api.total_bytes(self._torch, device):
            return last  # a limit as large as the device is none
        return now

    def _apply(self, device: int, wanted: int) -> None:
        self._failures[device] = self._failures.get(device, 0) + 1
        api.limit(self._torch, device, wanted)
        self._failures[device] = 0
        self._set[device] = wanted


def _same(a: int, b: Optional[int]) -> bool:
    """Whether two limits are one, which went through a fraction and back."""
    return b is not None and abs(a - b) <= 1
