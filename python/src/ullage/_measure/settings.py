"""The allocator's settings, as far as they have no effect: what a user believes to have set."""
from __future__ import annotations

import re
from typing import Any, Mapping, Optional

from .outlook import Warned

VARIABLES = _OLD, _NEW = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
_NEW_SINCE = (2, 9)


def check(version: str, environ: Mapping[str, str], in_force: Optional[str], limit_bytes: Optional[int]) -> list[Warned]:
    """What of the settings does nothing. in_force is the string that the allocator says it was given, None where it doesn't say."""
    found = []
    old, new = environ.get(_OLD, ""), environ.get(_NEW, "")
    if new and not old and _number(version) < _NEW_SINCE:
        found.append(Warned("conf/ignored-variable", f"{_NEW} is not read by torch {version}: set {_OLD}"))
    if old and new and old != new:
        found.append(Warned("conf/ignored-variable", f"{_OLD} and {_NEW} are both set and differ; one of them has no effect"))
    given = old or (new if _number(version) >= _NEW_SINCE else "")
    if given and in_force == "":
        found.append(Warned("conf/ignored-variable", f"the settings {given!r} are not in force: they were set after PyTorch had read them"))
    if re.search(r"garbage_collection_threshold\s*:", given) and "per_process_memory_fraction" not in given and limit_bytes is None:
        found.append(Warned(
            "conf/inert-gc", "garbage_collection_threshold does nothing without a limit: call set_per_process_memory_fraction too"))
    if re.search(r"backend\s*:\s*cudaMallocAsync", given):
        found.append(Warned(
            "conf/async-backend", "the back end cudaMallocAsync is in use: its counters are the driver's, and it can't be recorded"))
    return found


def in_force(torch: Any) -> Optional[str]:
    """The settings string that the allocator was given; None where this torch (before 2.3) or the back end doesn't tell."""
    try:
        settings = torch.cuda.memory._snapshot().get("allocator_settings")
    except RuntimeError:
        return None
    return None if settings is None else str(settings.get(_OLD, ""))


def _number(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)
