"""Begins when Python starts, and waits for the program to import torch and then to use CUDA.

Every Python process of a run comes by here, most of which never import torch. So nothing is imported that Python's start-up has
not imported already: it would cost each of them 40 ms, and a module of the standard library that is there before the program
begins hides a file of that name beside the program's script.
"""
from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing is not imported for its names alone
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any, Callable, Optional

VARIABLE = "ULLAGE_RUN"  # names the folder in which the processes of a run and `ullage run` meet; see job.py

_started = False


def start() -> None:
    """Waits for torch if this process belongs to a run. Never raises."""
    global _started
    if _started:
        return
    _started = True
    try:
        folder = os.environ.get(VARIABLE)
        if not folder or not os.path.exists(os.path.join(folder, "config.json")):
            return  # part of no run, or of one that is over
        _report(folder)
        if "torch" in sys.modules:  # a .pth file of the environment imports it
            _torch_is_here(sys.modules["torch"], folder)
        else:
            sys.meta_path.insert(0, WaitForTorch(lambda torch: _torch_is_here(torch, folder)))
    except Exception:
        pass


def _report(folder: str) -> None:
    """Says that a Python process of the run has begun, and that none of an earlier program of this process (see exec) is there."""
    os.close(os.open(os.path.join(folder, "reported"), os.O_CREAT | os.O_WRONLY, 0o600))
    try:
        os.unlink(os.path.join(folder, f"proc-{os.getpid()}.json"))
    except OSError:
        pass


def _torch_is_here(torch: Any, folder: str) -> None:
    from .._torch import api
    from . import job
    from .watcher import Watcher

    meeting = job.Meeting(folder)
    meeting.mark("torch")
    watcher = Watcher(torch, job.load(folder), meeting)
    if not api.on_first_use(torch, watcher.begin):
        meeting.problem(f"torch {getattr(torch, '__version__', '')} does not tell when CUDA is first used, so nothing is recorded")


class WaitForTorch:
    """A finder that finds nothing by itself: it has then called once `import torch`, or of the module of another name, has run to its end.

    It lets the finders behind it find torch, and wraps exec_module of the loader that they return; the module, its spec and
    its loader stay what they would have been.
    """

    def __init__(self, then: Callable[[Any], None], name: str = "torch") -> None:
        self.then, self.name = then, name

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if fullname != self.name:
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            self._wrap(spec.loader)
        return spec

    def _found_by_others(self, fullname: str, path: Any, target: Any) -> Optional[ModuleSpec]:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: Optional[ModuleSpec] = find(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def _wrap(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            if module.__name__ == self.name:
                self._imported(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader without attributes of its own: torch is then not noticed
            pass

    def _imported(self, torch: Any) -> None:
        try:
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then(torch)
        except Exception:
            pass
