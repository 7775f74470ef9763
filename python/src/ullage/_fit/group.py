"""Process groups of torch.distributed for one rank alone: init_process_group and new_group make them as ever, over a backend of
torch's own that talks to nobody.

The program sees the names that it asked for: a group made with "nccl" says so. What a collective does is in `collectives`.
"""
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Optional

import torch.distributed.distributed_c10d

from . import ddp, objects, ordinals
from .collectives import Collectives
from .config import Config

if TYPE_CHECKING:
    from .mode import TraceMode

dist: Any = torch.distributed
c10d: Any = torch.distributed.distributed_c10d
native: Any = torch._C._distributed_c10d


class Ranks:
    """Which rank this process is, and of how many. Both are known from the environment, or once a process group is made."""

    def __init__(self, config: Config, collectives: Collectives) -> None:
        self.config, self.collectives = config, collectives
        self.trace = collectives.mode.trace

    def install(self) -> None:
        """Puts the groups in place."""
        _stand_in("ProcessGroupNCCL")
        _stand_in("ProcessGroupGloo")
        for name in ("is_nccl_available", "is_gloo_available"):
            setattr(c10d, name, lambda: True)
            setattr(dist, name, lambda: True)
        c10d._GLOO_AVAILABLE = False  # no wrapper that compares what ranks do, under TORCH_DISTRIBUTED_DEBUG
        self._without_meeting()
        self._noting_groups()

    def _without_meeting(self) -> None:
        """init_process_group finds its rank and the number of ranks without waiting for the others."""
        ranks = self

        def rendezvous(url: str, rank: int = -1, world_size: int = -1, **_: Any) -> Any:
            yield dist.HashStore(), *ranks.place(url, rank, world_size)

        c10d.rendezvous = rendezvous
        for module in (dist, c10d, native):
            setattr(module, "TCPStore", _store)
            setattr(module, "FileStore", _store)
        c10d._store_based_barrier = lambda *_, **__: None
        if hasattr(c10d, "split_group"):
            replace("split_group", _split_group)

    def place(self, url: str, rank: int, world_size: int) -> tuple[int, int]:
        """This process's rank and the number of ranks: as the call, the URL or the environment says.

        Raises ValueError where nothing does.
        """
        asked = {"rank": rank, "world_size": world_size}
        query = dict(p.split("=", 1) for p in url.partition("?")[2].split("&") if "=" in p)
        for key, variable in (("rank", "RANK"), ("world_size", "WORLD_SIZE")):
            if asked[key] < 0:
                text = query.get(key, os.environ.get(variable))
                if text is None:
                    raise ValueError(f"the environment variable {variable} is not set: fit sets it under --ranks N, and torchrun does")
                asked[key] = int(text)
        return asked["rank"], asked["world_size"]

    def _noting_groups(self) -> None:
        make = c10d._new_process_group_helper

        def helper(group_size: int, group_rank: int, global_ranks_in_group: Any, backend: Any, *args: Any, **kwargs: Any) -> Any:
            if not global_ranks_in_group:
                self._begin(group_rank, group_size, str(backend))
            _replace_plugins(backend)
            made = make(group_size, group_rank, global_ranks_in_group, backend, *args, **kwargs)
            if kwargs.get("device_id") is not None and isinstance(made[0], dist.ProcessGroup):
                self.collectives.connect(made[0])
            return made

        c10d._new_process_group_helper = helper

    def _begin(self, rank: int, world: int, backend: str) -> None:
        """The process has said which rank it is: it goes on if that is one to be traced."""
        wanted = self.config.rank_numbers(world)
        if rank not in wanted:
            objects.leave(self.trace)
        try:
            os.unlink(os.path.join(self.config.folder, f"missing-{rank}"))
        except OSError:
            pass  # it is traced for the first time
        self.trace.line("group", rank=rank, world=world, backend=backend)


def replace(name: str, function: Any) -> None:
    """Puts a function in the place of torch.distributed's of that name, in all of its modules that have taken it over."""
    native_function = getattr(c10d, name)
    for key, module in list(sys.modules.items()):
        if key.startswith("torch.distributed") and getattr(module, name, None) is native_function:
            setattr(module, name, function)


def _split_group(
    parent_pg: Any = None, split_ranks: Any = None, timeout: Any = None, pg_options: Any = None, group_desc: Optional[str] = None, **_: Any
) -> Any:
    """As torch.distributed.split_group: the part of a group that this process is in, or None."""
    parent = parent_pg or dist.group.WORLD
    for ranks in split_ranks or ():
        if parent.rank() in ranks:
            members = [dist.get_global_rank(parent, r) for r in ranks]
            return c10d.new_group(members, timeout=timeout, backend=dist.get_backend(parent), group_desc=group_desc)
    return None


def _store(*_: Any, **__: Any) -> Any:
    """A store of keys that this process has for itself."""
    return dist.HashStore()


def _replace_plugins(backend: Any) -> None:
    """Has the backends that are registered by name make groups without anybody in them: from torch 2.12 on, torch's own are among them."""
    ensure = getattr(c10d.Backend, "_ensure_backend_registered", None)
    if ensure is not None:
        for name in set(c10d.BackendConfig(backend).device_backend_map.values()):
            ensure(name)
    plugins: dict[str, Any] = c10d.Backend._plugins
    for name, plugin in plugins.items():
        plugins[name] = plugin._replace(creator_fn=_without_others, extended_api=True)


def _without_others(options: Any, _: Any) -> Any:
    return native.FakeProcessGroup._create_internal(options.group_rank, options.group_size)


class _Absent(type):
    """The type of a backend's class that makes groups without anybody in them."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, native.FakeProcessGroup)

    def __call__(cls, store: Any, rank: int, size: int, *_: Any, **__: Any) -> Any:
        return native.FakeProcessGroup._create_internal(rank, size)


class _Options:
    """Options of a backend: kept, and without effect."""

    def __init__(self, is_high_priority_stream: bool = False, **_: Any) -> None:
        self.is_high_priority_stream = is_high_priority_stream
        self.config = _Anything()
        self._timeout: Optional[Any] = None


class _Anything:
    """Has every attribute that is set."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def _stand_in(name: str) -> None:
    options = getattr(getattr(native, name, None), "Options", _Options)
    for call in ("_set_sequence_number_for_group", "eager_connect_single_device", "perform_nocolor_split"):
        setattr(native.FakeProcessGroup, call, lambda self, *_: None)
    setattr(c10d, name, _Absent(name, (), {"Options": options, "_Options": options}))
    setattr(dist, name, getattr(c10d, name))


def install(config: Config, mode: "TraceMode") -> None:
    """Has torch.distributed work without other ranks."""
    collectives = Collectives(mode)
    mode.rules.update(collectives.answers())
    collectives.learn_operations()
    Ranks(config, collectives).install()
    objects.install(collectives, config, replace)
    ordinals.install(mode.card)
    ddp.install(mode.trace)
