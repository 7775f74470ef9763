"""Collectives of Python objects: every rank's object is as this one's.

They go through the GPU's memory where the group's backend is NCCL: the pickled object, and for a gathering one buffer with room
for as many as there are ranks. These are taken here as torch takes them.
"""
from __future__ import annotations

import copy
import os
import pickle
import sys
from typing import Any, Callable, NoReturn, Optional

import torch
import torch.distributed.distributed_c10d

from .collectives import Collectives
from .config import Config
from .trace import Trace

dist: Any = torch.distributed
c10d: Any = torch.distributed.distributed_c10d


class Objects:
    """Answers for the functions of torch.distributed that carry objects."""

    def __init__(self, collectives: Collectives) -> None:
        self.collectives = collectives

    def all_gather_object(self, object_list: list[Any], obj: Any, group: Any = None) -> None:
        """As torch.distributed.all_gather_object."""
        _carry(obj, group, dist.get_world_size(group))
        object_list[:] = [obj, *(copy.deepcopy(obj) for _ in object_list[1:])]

    def gather_object(
        self, obj: Any, object_gather_list: Optional[list[Any]] = None, dst: Any = None, group: Any = None, group_dst: Any = None
    ) -> None:
        """As torch.distributed.gather_object."""
        _carry(obj, group, 1 if object_gather_list is None else dist.get_world_size(group))
        if object_gather_list is not None:
            object_gather_list[:] = [obj, *(copy.deepcopy(obj) for _ in object_gather_list[1:])]

    def broadcast_object_list(
        self, object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None
    ) -> None:
        """As torch.distributed.broadcast_object_list, of what this rank has in the list."""
        _carry(object_list, group, 1, device)

    def scatter_object_list(
        self,
        scatter_object_output_list: list[Any],
        scatter_object_input_list: Optional[list[Any]] = None,
        src: Any = None,
        group: Any = None,
        group_src: Any = None,
    ) -> None:
        """As torch.distributed.scatter_object_list. What another rank scatters is not known here.

        Raises RuntimeError then.
        """
        if not scatter_object_input_list:
            raise RuntimeError("scatter_object_list: this rank gets an object from another, which fit does not run")
        _carry(scatter_object_input_list, group, 1)
        scatter_object_output_list[0] = scatter_object_input_list[dist.get_rank(group)]


def _carry(obj: Any, group: Any, times: int, device: Any = None) -> None:
    """Takes and gives back the memory that an object's way through a group takes."""
    where = torch.device(device) if device is not None else torch.device(c10d._get_object_coll_device(group))
    if where.type != "cuda":
        return
    size = len(pickle.dumps(obj))
    own = torch.empty(size, dtype=torch.uint8, device=where)
    every = torch.empty(size * times, dtype=torch.uint8, device=where)
    del own, every


class Messages:
    """Objects that one rank sends to another: left in the folder of the run, so that a rank that is traced later finds them.

    A rank that gets one which is not there yet says so and ends. It is traced again once the others have been: the stages of a
    pipeline tell their shapes forth and back.
    """

    def __init__(self, collectives: Collectives, config: Config) -> None:
        self.folder, self.config, self.trace = config.folder, config, collectives.mode.trace
        self._counts: dict[str, int] = {}

    def _path(self, source: int, target: int) -> str:
        pair = f"message-{source}-{target}"
        number = self._counts[pair] = self._counts.get(pair, -1) + 1
        return os.path.join(self.folder, f"{pair}-{number}")

    def send_object_list(
        self, object_list: list[Any], dst: Any = None, group: Any = None, device: Any = None, group_dst: Any = None, use_batch: bool = False
    ) -> None:
        """As torch.distributed.send_object_list."""
        _carry(object_list, group, 1, device)
        target = dst if dst is not None else dist.get_global_rank(group or dist.group.WORLD, group_dst or 0)
        path = self._path(dist.get_rank(), target)
        with torch._C._DisableTorchDispatch(), open(path + ".new", "wb") as f:
            pickle.dump(list(object_list), f)
        os.replace(path + ".new", path)

    def recv_object_list(
        self, object_list: list[Any], src: Any = None, group: Any = None, device: Any = None, group_src: Any = None, use_batch: bool = False
    ) -> int:
        """As torch.distributed.recv_object_list.

        Raises RuntimeError where the sender is not traced.
        """
        source = src if src is not None else dist.get_global_rank(group or dist.group.WORLD, group_src or 0)
        path = self._path(source, dist.get_rank())
        try:
            with open(path, "rb") as f:
                object_list[:] = pickle.load(f)
        except FileNotFoundError:
            self._miss(source)
        _carry(object_list, group, 1, device)
        return int(source)


    def _miss(self, source: int) -> None:
        own = dist.get_rank()
        text = f"rank {own} gets an object from rank {source}, which is not traced: use --rank all"
        if source not in self.config.rank_numbers(dist.get_world_size()):
            raise RuntimeError(text)
        with open(os.path.join(self.folder, f"missing-{own}"), "w", encoding="utf-8") as f:
            f.write(f"rank {own} gets an object from rank {source} that it never sends")
        leave(self.trace)


def leave(trace: Trace) -> NoReturn:
    """Ends this process without a trace."""
    trace.abandon()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def install(collectives: Collectives, config: Config, replace: Callable[[str, Any], None]) -> None:
    """Puts the functions in torch.distributed."""
    objects, messages = Objects(collectives), Messages(collectives, config)
    for owner, names in (
        (objects, ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")),
        (messages, ("send_object_list", "recv_object_list")),
    ):
        for name in names:
            replace(name, getattr(owner, name))
