"""Agreement of all processes of a job: what one must know of the others before it goes on.

A rank that repeats a step while another does not would wait forever in the next collective. So they exchange a few numbers at
places that all of them reach, whether or not their own step failed. The numbers travel through main memory (gloo): that needs no
memory on the device and does not wait for it.
"""
from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any, Optional, Sequence

from .. import _checks as checks

# Groups of our own by timeout, each with the world that it belongs to: a program may leave its world and join another.
_groups: dict[float, tuple[Any, Any]] = {}


class RankError(RuntimeError):
    """Another rank of the job failed for good, or didn't answer in time. This rank's own work may have succeeded."""


class Ranks:
    """The ranks that have to agree: those of group, or all of the job. Alone, or without torch.distributed, one agrees with oneself.

    timeout_s bounds the wait for the slowest rank. A group that is given has a timeout of its own.
    """

    def __init__(self, group: Any = None, timeout_s: float = 300.0, enabled: bool = True) -> None:
        self.group, self.timeout_s, self.enabled = _group(group), checks.timeout("timeout_s", timeout_s), checks.flag("agree", enabled)

    def count(self) -> int:
        """How many ranks have to agree."""
        dist = sys.modules.get("torch.distributed") if self.enabled else None
        if dist is None or not dist.is_available() or not dist.is_initialized():
            return 1
        return max(1, int(dist.get_world_size(self.group)))  # -1 for a group that this rank is no part of

    def rank(self) -> int:
        """This process's number among them."""
        import torch.distributed as dist

        return max(0, dist.get_rank(self.group)) if self.count() > 1 else 0

    def meet(self) -> None:
        """Makes what the exchange needs. Every rank calls it at the same place, before anything can fail."""
        if self.count() > 1:
            self._channel()

    def highest(self, values: Sequence[int]) -> list[int]:
        """The highest of each value over all ranks. Every rank has to call it; raises RankError if one doesn't in time."""
        if self.count() == 1:
            return list(values)
        import torch
        import torch.distributed as dist

        group, device = self._channel()
        numbers = torch.tensor(list(values), dtype=torch.int64, device=device)
        try:
            dist.all_reduce(numbers, op=dist.ReduceOp.MAX, group=group)
            return [int(n) for n in numbers.tolist()]
        except RuntimeError as err:
            raise RankError(self._unanswered(dist)) from err

    def _unanswered(self, dist: Any) -> str:
        return (
            f"rank {dist.get_rank(self.group)} of {self.count()}: another rank did not come to the end of its attempt (it ended, or"
            f" {self.timeout_s:g} s went by). hint: a rank that runs out of memory leaves the others waiting in any collective that is"
            " part of the attempt; keep collectives out of it, as docs/python/retry_on_oom.md shows")

    def _channel(self) -> tuple[Any, Any]:
        import torch
        import torch.distributed as dist

        if self.group is None and dist.is_gloo_available():
            return self._own_group(dist), torch.device("cpu")
        by_main_memory = any(name in str(dist.get_backend(self.group)) for name in ("gloo", "mpi"))
        return self.group, torch.device("cpu") if by_main_memory else torch.device("cuda", torch.cuda.current_device())

    def _own_group(self, dist: Any) -> Any:
        world, group = _groups.get(self.timeout_s, (None, None))
        if world is not dist.group.WORLD:
            group = dist.new_group(backend="gloo", timeout=timedelta(seconds=self.timeout_s))
            _groups[self.timeout_s] = (dist.group.WORLD, group)
        return group


def _group(given: Any) -> Any:
    """A process group, or None. What new_group() gives to ranks that are no part of it is a group too."""
    if given is None:
        return None
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available():
        if isinstance(given, dist.ProcessGroup) or given is dist.GroupMember.NON_GROUP_MEMBER:
            return given
    hint = "mesh.get_group()" if hasattr(given, "get_group") else ""
    raise checks.wrong("group", given, "a process group of torch.distributed, or None for all ranks", hint)


def worst(ranks: Ranks, code: int, size: Optional[int]) -> tuple[int, int, Optional[int]]:
    """The highest code of all ranks, a rank that has it, and the smallest size that any of them gave."""
    count, none = ranks.count(), -(2**62)
    first, smallest = ranks.highest([code * count + ranks.rank(), none if size is None else -size])
    return first // count, first % count, None if smallest == none else -smallest
