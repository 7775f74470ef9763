"""Starts the parts of a calibration, each in a process of its own on the one card, and writes what they say into the run's folder.

A part that fails, or is not done in time, is left out with the reason: the rest counts. The folder is named by ULLAGE_CALIBRATE; it
holds config.json and gets measured.jsonl, or problem-PID.json where nothing can be measured.
"""
from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from typing import Any, Optional, TextIO

from .driver import NVML, Card, Driver, NoGPU, usage

VARIABLE = "ULLAGE_CALIBRATE"
PART_SECONDS = 60.0  # the most that the context or NCCL may take
LEAST_SECONDS = 12.0  # for the kernels, however long the rest took
GRACE_SECONDS = 25.0  # after the time that the kernels were told, for what was begun
NCCL_SECONDS = 5.0  # for a second rank to end after the first
CONVOLUTION_SHARES = 2  # processes that run convolutions
TICK_SECONDS = 0.1  # between two looks at what a part has said so far


class Part:
    """A process that measures one thing. Its output is lines of JSON, its errors are kept for the reason."""

    def __init__(self, folder: str, name: str, environ: dict[str, str], *arguments: str, command: Optional[list[str]] = None) -> None:
        self.name, self._out = name, os.path.join(folder, "-".join([name, *arguments[:1]]) + ".out")
        self._stdout, self._stderr = open(self._out, "w"), open(self._out + ".err", "w")
        command = command or [sys.executable, "-m", f"ullage._calibrate.{name}", *arguments]
        self._process = subprocess.Popen(
            command, stdout=self._stdout, stderr=self._stderr, stdin=subprocess.PIPE, text=True, env={**os.environ, **environ}
        )

    def tell(self, line: str) -> None:
        """Gives it a line to read. One that has ended says so at the end."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def so_far(self) -> tuple[list[dict[str, Any]], bool]:
        """What it has said by now, and whether it has ended."""
        ended = self._process.poll() is not None
        return list(read_lines(self._out)), ended

    def lines(self, seconds: float) -> list[dict[str, Any]]:
        """Waits for it, and returns its lines; the last says what was left where it did not come to its end."""
        why = ""
        try:
            status = self._process.wait(max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            self._process.kill()
            status, why = self._process.wait(), f"it was not done after {seconds:.0f} seconds"
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._stdout.close()
        self._stderr.close()
        found = list(read_lines(self._out))
        if status != 0:
            found.append(left(self.name, why or last_line(self._out + ".err") or f"its process ended with {status}"))
        return found


def left(what: str, why: str) -> dict[str, Any]:
    return {"e": "left", "what": what, "why": why}


def read_lines(name: str) -> Any:
    """The objects of a file; libraries may have printed between them."""
    with open(name, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and "e" in row:
                yield row


def last_line(name: str) -> str:
    with open(name, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:300] if lines else ""


def problem(folder: str, kind: str, message: str, hint: str) -> int:
    with open(os.path.join(folder, f"problem-{os.getpid()}.json"), "w") as file:
        json.dump({"kind": kind, "message": message, "hint": hint}, file)
    return 1


def describe(driver: Driver, card: Card, nvml: Optional[NVML]) -> dict[str, Any]:
    """The first line: the card and who else is on it."""
    now = usage(nvml, card.uuid)
    memory = nvml.memory(card.uuid) if nvml is not None else None
    facts = {k: v for k, v in asdict(card).items() if k != "uuid"}
    return {
        "e": "card", "version": 1, **facts, "driver": nvml.driver() if nvml else "", "driver_cuda": driver.version(),
        "nvml_total_bytes": memory[0] if memory else None, "others": now.others, "python": sys.version.split()[0],
    }


def say(text: str) -> None:
    print(f"ullage: {text}", file=sys.stderr, flush=True)


class Run:
    """One calibration: see the module."""

    def __init__(self, folder: str, config: dict[str, Any], out: TextIO) -> None:
        self.folder, self.out = folder, out
        self.seconds, self.begin = float(config["seconds"]), time.monotonic()
        self.driver, self.nvml = Driver(), NVML.load()
        self.card = self.driver.card(int(config["index"]))
        self.environ = {"CUDA_VISIBLE_DEVICES": self.card.uuid, "ULLAGE_CALIBRATE_UUID": self.card.uuid}

    def write(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            self.out.write(json.dumps(row, separators=(",", ":")) + "\n")
        self.out.flush()

    def measure(self) -> None:
        """All parts: beside each other where the driver tells processes apart, else what a process takes first, alone."""
        self.write([describe(self.driver, self.card, self.nvml)])
        say(f"measuring {self.card.name}, for {self.seconds:.0f} seconds")
        kernels = [self.part("kernels", str(share), str(CONVOLUTION_SHARES)) for share in range(-1, CONVOLUTION_SHARES)]
        context = self.part("context", "1")
        if tells_apart(context):
            waiting = [context, self.part("context", "2")]
            ranks = self.start_nccl()
        else:
            waiting = []
            self.write(context.lines(PART_SECONDS))
            self.write(self.part("context", "2").lines(PART_SECONDS))
            ranks = self.start_nccl()
            self.finish_nccl(ranks)
        until = time.time() + max(LEAST_SECONDS, self.seconds - (time.monotonic() - self.begin))
        for part in kernels:
            part.tell(f"{until:.1f}")
        for part in waiting:
            self.write(part.lines(PART_SECONDS))
        if waiting:
            self.finish_nccl(ranks)
        for part in kernels:
            self.write(part.lines(until + GRACE_SECONDS - time.time()))
        self.write([{"e": "end", "seconds": round(time.monotonic() - self.begin, 1)}])

    def part(self, name: str, *arguments: str) -> Part:
        return Part(self.folder, name, self.environ, *arguments)

    def start_nccl(self) -> list[Part]:
        """A rank on this card, and one on another where there is one."""
        cards = [self.card] + [self.driver.card(i) for i in range(self.driver.count()) if i != self.card.index][:1]
        environ = [{"CUDA_VISIBLE_DEVICES": c.uuid, "ULLAGE_CALIBRATE_UUID": c.uuid} for c in cards]
        meet = os.path.join(self.folder, "meet")
        return [Part(self.folder, "nccl", e, str(rank), str(len(cards)), meet) for rank, e in enumerate(environ)]

    def finish_nccl(self, ranks: list[Part]) -> None:
        """The ranks' lines; the second is ended soon after the first."""
        self.write(ranks[0].lines(PART_SECONDS))
        for part in ranks[1:]:
            self.write(part.lines(NCCL_SECONDS))


def tells_apart(context: Part) -> bool:
    """Waits for the context's first step, and returns whether the driver told what the process itself uses."""
    for _ in range(int(PART_SECONDS / TICK_SECONDS)):
        rows, ended = context.so_far()
        first = [row for row in rows if row.get("what") == "init"]
        if first or ended:
            return bool(first) and first[0]["mine"] is not None
        time.sleep(TICK_SECONDS)
    return False


def main() -> int:
    folder = os.environ.get(VARIABLE)
    if not folder:
        say("this is a part of `ullage fit --calibrate`, which starts it")
        return 2
    if importlib.util.find_spec("torch") is None:
        hint = "name the Python that has it, as in: ullage fit --calibrate -- .venv/bin/python"
        return problem(folder, "torch", f"{sys.executable} has no torch", hint)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    try:
        with open(os.path.join(folder, "measured.jsonl"), "w") as out:
            Run(folder, config, out).measure()
    except NoGPU as e:
        os.remove(os.path.join(folder, "measured.jsonl"))
        return problem(folder, "gpu", str(e), e.hint)
    return 0
