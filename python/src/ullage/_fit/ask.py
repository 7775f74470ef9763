"""ullage.fit: what a model and a step function will take of a GPU, found without one."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from typing import Any, Callable, Iterable, Mapping, Optional, Union

from .. import _checks as checks
from .. import _units
from .config import VARIABLE

BINARY = "ULLAGE_BINARY"  # the program `ullage`, where it is not on PATH


class FitError(RuntimeError):
    """There is no prediction: the message says why, and what to do."""


@dataclass(frozen=True)
class Fit:
    """What a step will take of a GPU. Amounts are in bytes; docs/json.md has the fields of `report`."""

    gpu: str
    fits: bool  # on this GPU, as expected
    fits_safely: bool  # with the safe bound
    peak_allocated_bytes: int  # as torch.cuda.max_memory_allocated() would say
    peak_reserved_bytes: int  # as torch.cuda.max_memory_reserved() would
    safe_bytes: int  # a limit on reserved memory under which the step is expected to live
    context_bytes: int  # CUDA and its libraries, outside of PyTorch's allocator
    process_bytes: int  # as nvidia-smi would
    notes: tuple[str, ...] = ()  # what is assumed
    report: Mapping[str, Any] = field(default_factory=dict, repr=False)  # all that `ullage fit --json` says

    @property
    def remedies(self) -> list[dict[str, Any]]:
        """What the remedies that were asked for would save, the one that saves most first."""
        return list(self.report.get("remedies", ()))

    def __str__(self) -> str:
        verdict = "fits" if self.fits_safely else "fits, but only just," if self.fits else "does not fit"
        lines = [
            f"{verdict} on {self.gpu}: reserves {_units.size(self.peak_reserved_bytes)} at its peak "
            f"({_units.size(self.peak_allocated_bytes)} allocated), safe with a limit of {_units.size(self.safe_bytes)}; the process takes {_units.size(self.process_bytes)}"
        ]
        for remedy in self.remedies:
            if remedy["applies"]:
                saves = f"saves {_units.size(remedy['saved_bytes']):>10}  {100 * remedy['saved_share']:5.1f} %"
                lines.append(f"  {remedy['name']:<20} {saves}  {remedy['method']}")
        return "\n".join(lines)


def fit(
    model: Any,
    step: Callable[..., Any],
    *args: Any,
    gpu: Union[str, "os.PathLike[str]"] = "h200",
    device_memory: Union[str, int, None] = None,
    steps: int = 3,
    alloc_conf: Optional[str] = None,
    limit: Union[str, int, None] = None,
    remedies: Union[str, Iterable[str], None] = None,
) -> Fit:
    """Predicts what `step(model, *args)`, called again and again, takes of a GPU. None is needed; one that is there is not used.

    model is a module, on any device, "meta" included; step does what the training loop does with a batch: forward pass, backward
    pass, optimizer. Both run in a process of their own, in which the model and the tensors of args are on a GPU that is not
    there: nothing here is changed. gpu is a name or a file as `ullage fit --gpu` takes it; device_memory and limit are bytes, or
    text as "40GiB"; remedies is "all", or names of docs/fit.md.

    Needs the program `ullage`, on PATH or named by ULLAGE_BINARY, and torch 2.10 or newer. Raises FitError where it is missing,
    where model, step and args cannot be sent to another process, or where the step fails.
    """
    options = _options(gpu, steps, device_memory, limit, alloc_conf, remedies)
    checks.module("model", model, hint="fit(model, step, *args)" if callable(model) else "")
    given = "the model, and what is given after step"
    checks.function("step", step, given=given, arguments=1 + len(args), hint="fit(model, step, *args) calls step(model, *args)")
    if os.environ.get(VARIABLE):
        raise FitError('ullage.fit was called while it was tracing: put the call under `if __name__ == "__main__":`')
    command = [_binary(), "fit", "--json", *options]
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        path = os.path.join(folder, "payload")
        _send(path, (model, step, args, 2 * steps))
        return _result(_run([*command, "--", sys.executable, "-m", f"{__package__}.call", path]))


def _options(gpu: Any, steps: Any, device_memory: Any, limit: Any, alloc_conf: Any, remedies: Any) -> list[str]:
    """The flags of `ullage fit` for what was given."""
    if remedies is not None and not isinstance(remedies, str):
        remedies = ",".join(checks.text("what remedies has", one) for one in checks.several("remedies", remedies, "names, or 'all'"))
    flags = {
        "--gpu": checks.path("gpu", gpu, "the name of a GPU or of a file"),
        "--steps": checks.whole("steps", steps, least=1),
        "--device-memory": checks.optional(checks.size_bytes, "device_memory", device_memory, least=1),
        "--limit": checks.optional(checks.size_bytes, "limit", limit, least=1),
        "--alloc-conf": checks.optional(checks.text, "alloc_conf", alloc_conf),
        "--remedies": remedies,
    }
    return [part for flag, value in flags.items() if value is not None for part in (flag, str(value))]


def _binary() -> str:
    named = os.environ.get(BINARY)
    found = shutil.which(named or "ullage")
    if found is None:
        where = f"{BINARY} names {named}, which is no program" if named else f"the program `ullage` is not on PATH, and {BINARY} is not set"
        raise FitError(f"{where}; hint: install it, as the README says, or set {BINARY} to its path")
    return found


def _send(path: str, value: Any) -> None:
    from . import payload  # imports torch

    try:
        with open(path, "wb") as f:
            payload.write(f, value)
    except payload.CannotSend as e:
        raise FitError(
            f"model, step and arguments cannot be sent to another process: {e}; hint: define step at the top of a module, "
            "hand it what it needs as arguments, or install cloudpickle, which sends functions of notebooks and lambdas too"
        ) from e


def _run(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, errors="replace")
    if done.returncode == 0:
        report: dict[str, Any] = json.loads(done.stdout)
        return report
    lines = done.stderr.strip().splitlines()
    for line in reversed(lines):
        if line.startswith('{"error"'):
            error = json.loads(line)["error"]
            raise FitError("; hint: ".join([error["message"], *error["hints"]]))
    raise FitError(f"ullage fit ended with exit code {done.returncode}: " + "\n".join(lines[-5:]))


def _result(report: dict[str, Any]) -> Fit:
    names = ("gpu", "fits", "fits_safely", "peak_allocated_bytes", "peak_reserved_bytes", "safe_bytes", "context_bytes", "process_bytes")
    return Fit(notes=tuple(report["notes"]), report=report, **{name: report[name] for name in names})
