"""Puts the tracer in place once torch is imported, and takes leave of the process at its end."""
from __future__ import annotations

import atexit
import functools
import gc
import os
import sys
import threading
import time
from typing import Any, NoReturn, Optional

import torch
from torch._subclasses import fake_tensor

from . import attention, cuda, faults, forks, grouped, hooks, modules, passby, resize, rnn, tensors
from .config import Config
from .mode import TraceMode
from .optim import Steps
from .settings import Settings
from .stop import Stopper
from .storages import Storages
from .trace import Trace, caller

_ENVIRONMENT = ("CUBLAS", "CUDNN", "NCCL", "TORCH_CUDNN", "TORCH_CUBLAS", "TORCH_BLAS", "PYTORCH")
_started_at = time.time()
_session: Optional["Session"] = None


def begin(config: Config) -> None:
    """Begins to trace this process. Raises Problem where that cannot be."""
    global _session
    _hide_gpus()
    torch._C._ensureCUDADeviceGuardSet()  # before anything is said of devices: it looks whether there are any
    hooks.answer_for_absent_device()
    _session = Session(config)
    _session.install()


def _hide_gpus() -> None:
    """Has torch find no GPU where there are some, once and for all: it counts them only once."""
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    try:
        count = getattr(torch._C, "_cuda_getDeviceCount", None)
        if count is not None:
            count()
    finally:
        if before is None:
            del os.environ["CUDA_VISIBLE_DEVICES"]
        else:
            os.environ["CUDA_VISIBLE_DEVICES"] = before


def _script_without_fusing() -> None:
    """Has functions of torch.jit.script run operator by operator: what it fuses is compiled by the GPU's driver, which is not there."""
    for name in ("_jit_set_texpr_fuser_enabled", "_jit_override_can_fuse_on_gpu"):
        setter = getattr(torch._C, name, None)
        if setter is not None:
            setter(False)


class _NoTensor:
    """Stands where libraries look whether a tensor is fake, so as to leave out what reads values: here they can be read."""


class Session:
    """The tracing of one process."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.trace = Trace(os.path.join(config.folder, f"trace-{os.getpid()}.jsonl"))
        self.storages = Storages(self.trace, config.devices)
        self.card = cuda.Card(config, self.trace, self.storages)
        self._meta()
        self.trace.flush()  # so that a process which is killed can be told from one that never began
        cuda.install(self.card)
        self.mode = TraceMode(self.trace, self.storages, self.card)
        self.stopper = Stopper(config.steps, config.calls, self.finish)
        self.steps = Steps(self.trace, self.storages, self.mode, self.stopper)
        self.paths = modules.Paths(self.trace, self._called)
        self._known_roots: set[int] = set()
        self.remedies: Any = None

    def _meta(self) -> None:
        cudnn: Any = torch.backends.cudnn
        d = self.config.device
        self.trace.line(
            "meta",
            version=1,
            pid=os.getpid(),
            rank=int(os.environ.get("RANK", 0)),
            world=int(os.environ.get("WORLD_SIZE", 1)),
            argv=list(getattr(sys, "orig_argv", [])) or list(getattr(sys, "argv", [])),
            python=".".join(map(str, sys.version_info[:3])),
            torch=str(torch.__version__),
            cuda=torch.version.cuda,
            cudnn=cudnn.version() if cudnn.is_available() else None,
            device=dict(vars(d)),
            devices=self.config.devices,
            alloc_conf=os.environ.get("PYTORCH_ALLOC_CONF", os.environ.get("PYTORCH_CUDA_ALLOC_CONF")),
            env={k: v for k, v in os.environ.items() if k.startswith(_ENVIRONMENT)},
        )

    def install(self) -> None:
        """Puts everything in place; from here on the program's tensors pass by."""
        setattr(fake_tensor, "init_gpu_context", lambda *_: None)
        setattr(torch._subclasses, "FakeTensor", _NoTensor)
        _script_without_fusing()
        modules.install()
        resize.install(self.mode)
        self.paths.install()
        self.steps.install()
        attention.install(attention.Chooser(self.config.device.capability, _cudnn_version()))
        rnn.install()
        grouped.install()
        tensors.install(self.trace, self.config.folder)
        passby.PassBy(self.trace).install(self.mode)
        self.mode.module = self.paths.current
        self.mode.before_op = Settings(self.trace).look
        forks.install(self.trace, self.storages)
        self._install_ranks()
        self._install_remedies()
        atexit.register(self._at_exit)
        self._before_hard_exit()
        self._count_backward()
        gc.collect()
        gc.freeze()
        self.storages.before_first = self._calibrate_apart
        self.mode.__enter__()

    def _install_ranks(self) -> None:
        """torch.distributed, in builds that have it."""
        if not torch.distributed.is_available():
            return
        from . import group, launch

        group.install(self.config, self.mode)
        launch.install(self.config)

    def _install_remedies(self) -> None:
        """What the program is to be tried with, as `ullage fit --remedies` asks for it."""
        specs = self.config.raw.get("remedies")
        if specs:
            from .._remedies.apply import Remedies

            self.remedies = Remedies(specs, lambda name, places, did: self.trace.line("remedy", name=name, n=places, text=did))
            self.remedies.install()

    def _calibrate_apart(self) -> None:
        """Calibrates in a thread, where nothing of the operator that the program is in, or of its contexts, holds.

        Not before the program first uses CUDA: autograd does not work in a child that was forked after it ran.
        """
        thread = threading.Thread(target=self._calibrate)
        thread.start()
        thread.join()

    def _calibrate(self) -> None:
        """Runs a small backward pass of which nothing is written down."""
        trace, key = Trace(os.devnull), torch._C._TorchDispatchModeKey.FAKE
        outer = torch._C._unset_dispatch_mode(key)
        trial = TraceMode(trace, Storages(trace, 1), self.card)
        try:
            trial.reuse.calibrate(trial)
            self.mode.reuse.alone = trial.reuse.alone
        finally:
            trace.close()
            if outer is not None:
                torch._C._set_dispatch_mode(outer)

    def _called(self, module: torch.nn.Module) -> None:
        """A call of an outermost module has ended."""
        if id(module) not in self._known_roots:
            self._known_roots.add(id(module))
            self.steps.learn_names(module)
        if self.stopper.steps > 0 or torch._C._current_graph_task_id() >= 0:
            return
        if torch.is_grad_enabled():
            self.stopper.after_forward(id(module))
        else:
            stack = self.trace.stack(caller())
            self.trace.line("step", what="call", n=self.stopper.after_call(), k=stack if stack >= 0 else None)
            self.trace.flush()
            self.stopper.after_calls()

    def _count_backward(self) -> None:
        """Has every backward pass of the program pass by: one that updates its weights by itself makes no other steps."""
        run, stopper = torch.autograd.backward, self.stopper

        @functools.wraps(run)
        def backward(*args: Any, **kwargs: Any) -> None:
            nested = torch._C._current_graph_task_id() >= 0
            run(*args, **kwargs)
            if not nested:
                stopper.after_backward()

        torch.autograd.backward = backward

    def _before_hard_exit(self) -> None:
        """Has os._exit, which runs nothing at exit, write the end of the trace first. Processes that multiprocessing forks end so."""
        leave = os._exit

        def _exit(status: int) -> NoReturn:
            self.finish("ended", status=status or None)
            leave(status)

        os._exit = _exit

    def finish(self, reason: str, **more: Any) -> None:
        """Writes the end of the trace."""
        if self.remedies is not None:
            self.remedies.report()
        self.trace.close(
            reason=reason,
            steps=self.stopper.steps,
            calls=self.stopper.calls,
            live=len(self.storages.live),
            seconds=round(time.time() - _started_at, 3),
            host_peak_bytes=_host_peak_bytes(),
            **more,
        )

    def _at_exit(self) -> None:
        """The program ends by itself, with whatever error ended it still at hand: Python keeps it in sys.last_value."""
        gc.unfreeze()  # or extensions find objects of theirs alive when they are torn down, and say so
        error = getattr(sys, "last_value", None)
        if error is None:
            self.finish("ended", caught=faults.caught[-1] if faults.caught else None)
        else:
            text, where, fault = str(error)[:2000], faults.place_of(error), faults.fault_of(error)
            self.finish("error", error=type(error).__name__, message=text, where=where, fault=fault)


def _cudnn_version() -> int:
    """cuDNN's version as a number, 91900 for 9.19; in a build without it, that of the builds with CUDA 13 on PyPI."""
    cudnn: Any = torch.backends.cudnn
    return int(cudnn.version() or 91900) if cudnn.is_available() else 91900


def _host_peak_bytes() -> Optional[int]:
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
