"""snapshot(): a recording of now, in a file."""
from __future__ import annotations

import os
from typing import Any, Union

from .. import _checks as checks
from .._companion import dump
from .._torch import api, memory


def snapshot(path: Union[str, "os.PathLike[str]"]) -> str:
    """Writes what PyTorch's allocator holds now, and the events that led there if memory is being recorded. Returns the path.

    The file is what torch.cuda.memory._dump_snapshot() writes, and `ullage explain`, `view` and `tune` read; its name ends in .pickle.
    Beside it stands NAME.json with what the file lacks: rank, size of the device, limit, counters. Both are written whole or not at all,
    under the names of earlier ones too, and not if they would fill the disk or be larger than 4 GiB.

    Raises ValueError for another ending, RuntimeError before CUDA is used, when its back end can't be recorded and where it was refused
    for the disk's sake, OSError where the file can't be written.
    """
    name = checks.path("path", path)
    if not name.endswith(".pickle"):
        raise checks.wrong("path", name, "a name that ends in .pickle, by which recordings are found", kind=ValueError)
    if not memory.in_use():
        raise RuntimeError(f"snapshot {name!r}: this process has not used CUDA, so that there is nothing to write")
    import torch

    about: dict[str, Any] = {"recording": os.path.basename(name)}
    beside = dump.describe(torch, "snap", about, run="", history=None if api.recording(torch) else 0)
    try:
        dump.write(torch, name, beside)
    except dump.Refused as e:
        raise RuntimeError(f"snapshot {name!r}: {e}") from None
    return name
