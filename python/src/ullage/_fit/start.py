"""Begins when Python starts, and waits for the program to import torch."""
from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from .._companion.job import Meeting
from .._companion.start import WaitForTorch
from . import config

_started = False
OLDEST = (2, 10)  # the no-op guard for GPUs that are not there, and a device for fake tensors without one (pytorch#163187)


def start() -> None:
    """Waits for torch if this process is to be traced. Never raises."""
    global _started
    if _started:
        return
    _started = True
    try:
        settings = config.load(os.environ)
        if settings is None:
            return
        Meeting(settings.folder).mark("reported")
        atexit.register(_tell_of_early_end, settings)
        sys.meta_path.insert(0, WaitForTorch(lambda torch: _torch_is_here(torch, settings)))
    except Exception:
        pass  # the folder is gone: nobody waits for a trace


def _tell_of_early_end(settings: config.Config) -> None:
    """Leaves word of the error that ended the process before it imported torch: Python keeps it in sys.last_value."""
    error = getattr(sys, "last_value", None)
    if error is None or "torch" in sys.modules:
        return
    from . import faults

    where = faults.place_of(error)
    at, text = f" at {where}" if where else "", f"{type(error).__name__}: {str(error)[:1000]}"
    message = f"the program failed{at}, before it imported torch: {text}"
    config.tell_problem(settings.folder, config.Problem("program", message, fault=faults.fault_of(error)))


def _torch_is_here(torch: Any, settings: config.Config) -> None:
    """Puts the tracer in place. A program that cannot be traced is ended here: what it would go on to do, it would do for real."""
    Meeting(settings.folder).mark("torch")
    try:
        _require(torch)
        from .begin import begin

        begin(settings)
    except config.Problem as problem:
        _give_up(settings, problem)
    except Exception as e:
        hint = "please report this, with the output of `python -c 'import torch; print(torch.__version__)'`"
        _give_up(settings, config.Problem("tracer", f"the tracer could not begin: {type(e).__name__}: {e}", hint))


def _require(torch: Any) -> None:
    if not hasattr(torch, "__version__"):
        place = getattr(torch, "__file__", None) or ", ".join(getattr(torch, "__path__", ()))
        raise config.Problem("torch", f"the program imports {place} as torch, which is not PyTorch", "give the file or folder another name: it stands in PyTorch's way")
    version = str(torch.__version__)
    numbers = tuple(int(n) for n in version.split("+")[0].split(".")[:2] if n.isdigit())
    if numbers < OLDEST:
        raise config.Problem(
            "torch",
            f"torch {version} is too old: fake CUDA tensors need {OLDEST[0]}.{OLDEST[1]} or newer",
            f"install torch {OLDEST[0]}.{OLDEST[1]} or newer for the prediction; a CPU-only build will do",
        )


def _give_up(settings: config.Config, problem: config.Problem) -> None:
    config.tell_problem(settings.folder, problem)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
