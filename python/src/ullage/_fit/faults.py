"""Tells whose fault it is that a program ended in an error, and at which line of its own: by docs/formats/trace.md."""
from __future__ import annotations

import os
import sysconfig
from types import TracebackType
from typing import Iterator, Optional

# What the messages and modules of libraries have in common that run code of their own on the GPU, or build it.
_EXTENSION_WORDS = ("CUDA_HOME", "nvcc", "libcuda", "libnvrtc", "cudaErr", "undefined symbol", "fake impl", "fake kernel", "active driver")
_EXTENSION_MODULES = ("cupy", "pycuda", "numba", "triton", "flash_attn", "xformers", "apex", "transformer_engine", "mamba_ssm")
_EXTENSION_FILES = ("/torch/utils/cpp_extension.py", "/triton/runtime/", "/triton/backends/", "/cupy/", "/pycuda/", "/numba/cuda/")
_NETWORK_MODULES = ("urllib", "http", "requests", "urllib3", "httpx", "httpcore", "aiohttp", "huggingface_hub", "ssl", "botocore", "wandb")
_NETWORK_ERRORS = ("gaierror", "herror", "SSLError", "URLError", "LocalEntryNotFoundError", "OfflineModeIsEnabled")
_STANDARD = tuple({os.path.realpath(p) + os.sep for k, p in sysconfig.get_paths().items() if k in ("stdlib", "platstdlib")})
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package: none of its files is the program's

caught: list[str] = []  # what `Unsupported` said, whether or not the program caught it


class Unsupported(RuntimeError):
    """Something that the prediction cannot do; the message says what, and what to change."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        caught.append(text)


def chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on. An error may have been wrapped by the program."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def fault_of(error: BaseException) -> str:
    """Whose fault an error is: unsupported, extension, network, command, file, torch, module, input, or the program's own."""
    errors = list(chain(error))
    for fault, found in (
        ("unsupported", lambda e: isinstance(e, Unsupported)),
        ("extension", _is_of_extension),
        ("network", _is_of_network),
        ("command", _misses_command),
        ("file", lambda e: isinstance(e, (FileNotFoundError, NotADirectoryError, PermissionError)) or _misses_data(e)),
        ("torch", lambda e: isinstance(e, ImportError) and e.name == "torch"),
        ("module", lambda e: isinstance(e, ImportError)),
        ("input", lambda e: isinstance(e, EOFError) and "reading a line" in str(e)),
    ):
        if any(found(e) for e in errors):
            return fault
    return "program"


def _is_of_extension(error: BaseException) -> bool:
    if isinstance(error, ImportError) and (error.name or "").split(".")[0] in _EXTENSION_MODULES:
        return True
    if any(word in str(error) for word in _EXTENSION_WORDS):
        return True
    return any(part in f for f in _files(error.__traceback__) for part in _EXTENSION_FILES)


def _is_of_network(error: BaseException) -> bool:
    kind = type(error)
    if kind.__name__ in _NETWORK_ERRORS or isinstance(error, ConnectionError):
        return True
    return kind.__module__.split(".")[0] in _NETWORK_MODULES and any(word in kind.__name__ for word in ("onnect", "HTTP", "Timeout"))


def _misses_command(error: BaseException) -> bool:
    """Whether an error is that of starting a program that is not there, by its name: as nvidia-smi is not, without a GPU."""
    name = getattr(error, "filename", None)
    return isinstance(error, FileNotFoundError) and isinstance(name, str) and os.sep not in name and any(f.endswith("/subprocess.py") for f in _files(error.__traceback__))


def _misses_data(error: BaseException) -> bool:
    """Whether an error is one of those that data sets raise where their files are not there."""
    text = str(error).lower()
    return isinstance(error, (RuntimeError, OSError, ValueError)) and "not found" in text and ("download" in text or "dataset" in text)


def _files(at: Optional[TracebackType]) -> Iterator[str]:
    while at is not None:
        yield at.tb_frame.f_code.co_filename.replace(os.sep, "/")
        at = at.tb_next


def is_own_code(filename: str) -> bool:
    """Whether a file is the program's own: of no package, of neither Python's library nor the tracer."""
    if filename.startswith("<") or any(part in filename for part in _PACKAGES) or filename.startswith(_HERE):
        return False
    return not os.path.realpath(filename).startswith(_STANDARD)


def place_of(error: BaseException) -> Optional[str]:
    """The innermost line of the program's own in an error's traceback, as "train.py:31"; of a syntax error, the line that has it."""
    place, at = None, error.__traceback__
    while at is not None:
        if is_own_code(at.tb_frame.f_code.co_filename):
            place = f"{os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"
        at = at.tb_next
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{os.path.basename(error.filename)}:{error.lineno}"
    return place
