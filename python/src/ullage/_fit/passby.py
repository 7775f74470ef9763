"""What a program may use that has no part in the memory of its GPU, and is passed by: compilation, workers, pinning, profilers."""
from __future__ import annotations

import threading
from typing import Any

import torch
from torch.utils.data import DataLoader

from .cuda import Generator
from .mode import TraceMode
from .trace import Trace, caller


class PassBy:
    """Puts harmless stand-ins in place, and says so in the trace once each is used."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def _note(self, what: str, text: str) -> None:
        stack = self.trace.stack(caller(2))
        self.trace.note(what, text, None if stack < 0 else stack)

    def install(self, mode: TraceMode) -> None:
        """Puts all of them in place."""
        self._compilation()
        self._loading()
        self._profiling()
        self._threads(mode)
        torch.Generator = Generator  # type: ignore[misc]
        torch.nn.RNNBase.flatten_parameters = lambda self: None  # type: ignore[method-assign]
        torch.backends.mha.set_fastpath_enabled(False)  # its kernels have no shapes for fakes

    def _compilation(self) -> None:
        note = self._note

        def compile(model: Any = None, **_: Any) -> Any:
            note("compile", "torch.compile was passed by")
            return model if model is not None else lambda f: f

        torch.compile = compile
        torch.nn.Module.compile = lambda self, *a, **k: note("compile", "Module.compile was passed by")  # type: ignore[method-assign]

    def _loading(self) -> None:
        note, init = self._note, DataLoader.__init__

        def __init__(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
            init(self, dataset, *args, **kwargs)
            if self.num_workers > 0:
                note("workers", f"{self.num_workers} workers of a DataLoader were passed by: its data is read in the main process")
            # What stands here was checked by the original; a loader without workers takes neither of these.
            for name, value in (("num_workers", 0), ("prefetch_factor", None), ("persistent_workers", False), ("timeout", 0), ("pin_memory", False)):
                object.__setattr__(self, name, value)
            self._DataLoader__multiprocessing_context = None

        DataLoader.__init__ = __init__  # type: ignore[method-assign]

    def _profiling(self) -> None:
        """Profilers of the GPU see nothing, and complain at every operator."""
        from torch.autograd import profiler

        init = profiler.profile.__init__

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            kwargs.update({k: None if k == "use_device" else False for k in ("use_cuda", "use_device") if k in kwargs})
            init(self, *args, **kwargs)

        profiler.profile.__init__ = __init__  # type: ignore[method-assign]
        activity: Any = torch.profiler.ProfilerActivity
        profilers: Any = torch.profiler
        profilers.supported_activities = lambda: {activity.CPU}
        base = profilers._KinetoProfile
        kineto = base.__init__

        def of_cpu(self: Any, *, activities: Any = None, **kwargs: Any) -> None:
            kept = None if activities is None else [a for a in activities if a is not activity.CUDA] or [activity.CPU]
            kineto(self, activities=kept, **kwargs)

        base.__init__ = of_cpu

    def _threads(self, mode: TraceMode) -> None:
        """Modes belong to a thread: one that the program starts enters this one first."""
        run = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

        def _bootstrap_inner(self: Any) -> Any:
            with mode:
                return run(self)

        threading.Thread._bootstrap_inner = _bootstrap_inner  # type: ignore[attr-defined]
