"""The run that this process is a part of: what `ullage run` asked for, and the folder in which the two meet.

`ullage run` makes a private folder, writes config.json into it, and names it in the variable ULLAGE_RUN. What stands in out is
the path of the folder for recordings, as the system has it: JSON could not carry one that is not UTF-8. In it a process
leaves what it has to tell: that it is watched at all (reported), that torch was imported (torch), that CUDA was used (cuda),
how to ask it for a recording (proc-PID.json), and what went wrong (problems).
"""
from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional

MAX_PROBLEMS = 20  # lines that one process adds to the list of problems


@dataclass(frozen=True)
class Lease:
    """What the agent has granted to the job that this process is a part of."""

    id: int
    epoch: int  # grows with every grant of the machine
    memory: int  # bytes, on each of its devices, for all of the job's processes; 0 where it is not known
    context: int  # bytes that a process is expected to take besides its allocator


@dataclass(frozen=True)
class Config:
    """What the flags of `ullage run` say."""

    folder: str  # where the processes and `ullage run` meet
    run: str  # the run's name: the same in every file that it writes
    out: str  # where recordings go
    job: str  # what the names of recordings begin with
    history: int  # events that are kept for each device; 0 keeps none
    at_exit: bool  # write a recording when a process ends
    budgets: tuple[int, ...]  # bytes of reserved memory: a recording at the first time that each is reached
    limit: int  # bytes that a process may reserve on a device; 0 for no limit
    socket: str = ""  # the agent's, that is told of the process's memory; "" for none
    lease: Optional[Lease] = None


def load(folder: str) -> Config:
    """Reads the configuration of a run.

    Raises OSError, ValueError, KeyError or TypeError where the folder is gone or is not ours.
    """
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        raw: dict[str, Any] = json.load(f)
    with open(os.path.join(folder, "out"), "rb") as f:
        out = os.fsdecode(f.read())
    return Config(
        folder=folder,
        run=str(raw["run"]),
        out=out,
        job=str(raw["job"]),
        history=int(raw["history"]),
        at_exit=bool(raw["at_exit"]),
        budgets=tuple(int(b) for b in raw["budgets"]),
        limit=int(raw["limit_bytes"]),
        socket=str(raw.get("socket") or ""),
        lease=_lease(raw.get("lease")),
    )


def _lease(raw: Optional[Mapping[str, Any]]) -> Optional[Lease]:
    if not raw:
        return None
    return Lease(int(raw["id"]), int(raw["epoch"]), int(raw["memory_bytes"]), int(raw["context_bytes"]))


class Meeting:
    """Leaves marks and messages in the run's folder. Nothing here raises: a folder that is gone is no reason to stop a program."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._told: set[str] = set()

    def mark(self, name: str) -> None:
        """Says that something has happened, in whichever process."""
        try:
            os.close(os.open(os.path.join(self.folder, name), os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            pass

    def problem(self, text: str) -> None:
        """Adds a line to what `ullage run` tells the user when the program has ended, once for each text."""
        text = " ".join(text.split())[:500]
        if text in self._told or len(self._told) >= MAX_PROBLEMS:
            return
        self._told.add(text)
        line = f"process {os.getpid()}: {text}\n"
        try:
            fd = os.open(os.path.join(self.folder, "problems"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
            try:
                os.write(fd, line.encode("utf-8", "replace"))  # one write: lines of several processes do not mix
            finally:
                os.close(fd)
        except OSError:
            pass

    def tell(self, name: str, value: Mapping[str, Any]) -> None:
        """Writes a small JSON file, whole or not at all."""
        try:
            write_whole(os.path.join(self.folder, name), json.dumps(value).encode())
        except (OSError, ValueError):
            pass

    def forget(self, name: str) -> None:
        """Removes a file of the folder if it is there."""
        try:
            os.unlink(os.path.join(self.folder, name))
        except OSError:
            pass


def write_whole(path: str, data: bytes) -> None:
    """Writes a file under a temporary name and renames it, so that no reader sees half of it."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as f:
            f.write(data)
        os.replace(part, path)
    except BaseException:
        try:
            os.unlink(part)
        except OSError:
            pass
        raise


def timestamp(seconds: float) -> str:
    """A moment as RFC 3339 in UTC, with milliseconds."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


def started() -> str:
    """When this process started, as the kernel counts, where it tells: another process of the same number has another one."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[19]  # field 22; a program's name may have spaces and brackets
    except (OSError, IndexError):
        return ""


def hostname() -> str:
    """The machine's name, or "" where the system does not tell."""
    try:
        return socket.gethostname()
    except OSError:
        return ""


_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def _first_number(environ: Mapping[str, str], names: tuple[str, ...]) -> Optional[int]:
    for name in names:
        text = environ.get(name, "")
        if text.isdigit() and len(text) < 10:
            return int(text)
    return None


def rank(environ: Mapping[str, str]) -> Optional[int]:
    """This process's rank as its launcher gave it, or None where there is none."""
    if "RANK" not in environ and environ.get("SLURM_NTASKS", "1") == "1" and "SLURM_PROCID" in environ:
        return None  # a job of one process: every program in it would be rank 0
    return _first_number(environ, _RANK)


def local_rank(environ: Mapping[str, str]) -> Optional[int]:
    """This process's rank within its machine, which launchers use as the number of its GPU, or None."""
    return _first_number(environ, _LOCAL_RANK)
