"""Programs that start a process for each rank: torchrun and what is built on it, and torch.multiprocessing.spawn.

Only the ranks that are traced are started, one after the other: N processes would need N times the memory of one.
"""
from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from typing import Any, Callable

import torch.multiprocessing

from .._companion.job import Meeting
from .._companion.start import WaitForTorch
from .config import DEVICES, Config


def install(config: Config) -> None:
    """Has the launchers start what is to be traced."""
    launcher = Launcher(config)
    spawning: Any = sys.modules["torch.multiprocessing.spawn"]
    whole: Any = torch.multiprocessing
    spawning.start_processes = whole.start_processes = launcher.start_processes
    name = "torch.distributed.launcher.api"
    if name in sys.modules:
        launcher.replace_elastic(sys.modules[name])
    else:
        sys.meta_path.insert(0, WaitForTorch(launcher.replace_elastic, name))


class Launcher:
    """Starts ranks in place of torch's launchers."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def replace_elastic(self, api: Any) -> None:
        """Takes the place of the agent that torchrun, accelerate and others start."""
        launcher = self

        def call(self: Any, *args: Any) -> dict[int, Any]:
            return launcher.run_agent(self._config, self._entrypoint, list(args))

        api.elastic_launch.__call__ = call

    def run_agent(self, settings: Any, entry: Any, args: list[Any]) -> dict[int, Any]:
        """Runs each rank's command, or function, to its end. Ends this process where one fails."""
        local = settings.nproc_per_node
        world = self.config.ranks or settings.max_nodes * local
        local = min(local, world) if self.config.ranks else local

        def run(rank: int) -> None:
            environ = environment(rank, world, local)
            if isinstance(entry, str):
                with subprocess.Popen([entry, *map(str, args)], env={**os.environ, **environ}) as process:
                    self._check(process.pid, process.wait())
            else:
                self._call(settings.start_method, entry, tuple(args), environ)

        self._in_turn(world, run)
        return {}

    def start_processes(
        self, fn: Callable[..., Any], args: Any = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
    ) -> Any:
        """torch.multiprocessing.start_processes, for the ranks that are traced: to their end, with join=False too."""
        self._in_turn(nprocs, lambda rank: self._call(start_method, fn, (rank, *args), {DEVICES: str(nprocs)}))
        return None if join else _Joined()

    def _in_turn(self, world: int, run: Callable[[int], None]) -> None:
        """Runs the ranks that are traced, and those again, backwards, that had to do without another's message, for as long as it helps."""
        Meeting(self.config.folder).mark("launched")
        ranks, sent = self.config.rank_numbers(world), -1
        while ranks and sent != (sent := self._messages()):
            for rank in ranks:
                run(rank)
            ranks = [r for r in reversed(ranks) if os.path.exists(os.path.join(self.config.folder, f"missing-{r}"))]

    def _messages(self) -> int:
        return sum(name.startswith("message-") for name in os.listdir(self.config.folder))

    def _call(self, start_method: str, fn: Callable[..., Any], args: tuple[Any, ...], environ: dict[str, str]) -> None:
        """Calls a function in a process of its own. One that was forked would have no tracer of its own, so it is spawned."""
        before = dict(os.environ)
        os.environ.update(environ)
        try:
            context: Any = multiprocessing.get_context("forkserver" if start_method == "forkserver" else "spawn")
            process = context.Process(target=fn, args=args)
            process.start()
        finally:
            os.environ.clear()
            os.environ.update(before)
        process.join()
        self._check(process.pid, process.exitcode or 0)

    def _check(self, pid: int, status: int) -> None:
        """Ends this process where a rank's failed. One that a signal ended after its trace was whole did not fail: threads of autograd
        may come in the way while Python tears itself down ("terminate called without an active exception")."""
        if status > 0 or (status < 0 and not _is_whole(os.path.join(self.config.folder, f"trace-{pid}.jsonl"))):
            raise SystemExit(status if status > 0 else 128 - status)


def environment(rank: int, world: int, local: int) -> dict[str, str]:
    """What torchrun tells a rank, of local ranks on each machine."""
    return {
        DEVICES: str(local),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank % local),
        "GROUP_RANK": str(rank // local),
        "ROLE_RANK": str(rank),
        "ROLE_NAME": "default",
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(local),
        "GROUP_WORLD_SIZE": str(-(-world // local)),
        "ROLE_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "none",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }


def _is_whole(trace: str) -> bool:
    """Whether a process wrote its trace to the end, and ended without an error of its own."""
    try:
        with open(trace, "rb") as f:
            f.seek(max(0, os.fstat(f.fileno()).st_size - 1024))
            last = f.read().splitlines()[-1:]
    except OSError:
        return False
    return bool(last) and last[0].startswith(b'{"e":"end"') and b'"reason":"error"' not in last[0]


class _Joined:
    """The processes of a launcher that have ended."""

    processes: list[Any] = []

    def join(self, *_: Any, **__: Any) -> bool:
        return True

    def pids(self) -> list[int]:
        return []
