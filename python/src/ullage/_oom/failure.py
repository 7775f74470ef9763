"""What an error says about the device, and how to let go of what a failed call still holds."""
from __future__ import annotations

import inspect
import sys
import traceback
from types import FrameType
from typing import Any, Iterator, Optional, cast

from .._torch import memory, oomtext

# How PyTorch's own checks begin, whatever the driver said. Libraries' errors (cuBLAS, cuDNN) may begin so too.
_DEVICE_ERRORS = ("CUDA error:", "HIP error:")


def chain(exc: Optional[BaseException], handled: Optional[BaseException] = None) -> Iterator[BaseException]:
    """exc and what it was raised from or while handling, up to handled: what was being handled before has nothing to do with it."""
    for _ in range(oomtext.MAX_CHAIN):
        if exc is None or exc is handled:
            return
        yield exc
        exc = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)


def message_of(exc: BaseException, handled: Optional[BaseException] = None) -> Optional[str]:
    """The first line of the error that means a lack of GPU memory, or None.

    None as well if any error of the chain is one of the device that isn't a lack of memory (an illegal access, an assertion):
    such errors stick to the process's context, and nothing on the device works after them.
    """
    found: Optional[str] = None
    for link in chain(exc, handled):
        text = oomtext.text_of(link)
        if oomtext.is_oom(link):
            found = found or text.partition("\n")[0][:300]
        elif any(mark in text for mark in _DEVICE_ERRORS):
            return None
    return found


def broken() -> Optional[str]:
    """Why CUDA can't go on in this process, or None. Doesn't wait for the device.

    cudaStreamQuery answers with the error that sticks to the context, if there is one. It is not allowed while a graph is captured,
    but then nothing can be repeated either: a failed capture ends the graph.
    """
    import torch

    if not _uses_cuda():
        return None
    try:
        if torch.cuda.is_current_stream_capturing():
            return "a CUDA graph is being captured, and can't be captured in two attempts"
        torch.cuda.current_stream().query()
    except RuntimeError as err:
        return None if oomtext.is_oom(err) else oomtext.text_of(err).partition("\n")[0]
    return None


def let_go(exc: BaseException, handled: Optional[BaseException] = None) -> None:
    """Clears the frames of a failed call and of every error in its chain: their locals are tensors of the step that failed.

    The frames of the last error that reached the top of an interactive session (sys.last_value) are cleared as well: memory is
    short, and in a notebook they hold the tensors of an earlier cell. Frames that still run keep their locals.
    """
    for link in chain(exc, handled):
        traceback.clear_frames(link.__traceback__)
        link.__traceback__ = None
    for link in chain(getattr(sys, "last_value", None)):
        traceback.clear_frames(link.__traceback__)


def lack_in(exc: BaseException, handled: Optional[BaseException] = None) -> Optional[BaseException]:
    """The error of a chain that means a lack of GPU memory, by itself: what it was wrapped in may hold tensors."""
    return next((link for link in chain(exc, handled) if oomtext.is_oom(link)), None)


def blame(exc: BaseException, lack: Optional[BaseException], handled: Optional[BaseException] = None) -> None:
    """Makes a lack of memory the cause of what was raised after it, so that it is printed too."""
    if lack is not None and not any(link is lack for link in chain(exc, handled)):
        *_, first = chain(exc, handled)
        first.__cause__ = lack


def reading() -> Optional[memory.Reading]:
    """The current device's counters, or None where this process doesn't use CUDA."""
    return memory.read() if _uses_cuda() else None


def _uses_cuda() -> bool:
    import torch

    return bool(cast(Any, torch.cuda).is_initialized())


def names_with_graph(frame: FrameType) -> tuple[str, ...]:
    """The local names of a frame that are bound to results of operations on parameters: each holds what its graph has saved.

    Up to Python 3.12 a function's f_locals is a copy that the frame keeps, and that would hold the tensors when their names don't.
    """
    import torch

    names = frame.f_locals
    held = tuple(name for name, value in names.items() if isinstance(value, torch.Tensor) and value.grad_fn is not None)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        names.clear()
    return held


def note(exc: BaseException, text: str) -> None:
    """Adds a line to what Python prints of exc, from Python 3.11 on."""
    add = getattr(exc, "add_note", None)
    if add is not None:
        add(text)
