"""Which of the machine's GPUs a CUDA device is."""
from __future__ import annotations

from typing import Any, Mapping

_FULL = 36  # characters of a UUID


def of(torch: Any, device: int, environ: Mapping[str, str]) -> str:
    """The device's UUID as the driver writes it, GPU-… or MIG-…, or "" where nothing tells. Makes no context.

    A MIG instance is told by CUDA_VISIBLE_DEVICES before all: torch may give its GPU's UUID in its place.
    """
    visible = _visible(device, environ)
    if visible.startswith("MIG-"):
        return visible
    uuid = str(getattr(torch.cuda.get_device_properties(device), "uuid", "") or "")  # torch 2.4 and newer
    if uuid:
        return uuid if uuid.startswith(("GPU-", "MIG-")) else f"GPU-{uuid}"
    return visible if visible.startswith("GPU-") and len(visible) == len("GPU-") + _FULL else ""


def _visible(device: int, environ: Mapping[str, str]) -> str:
    """What CUDA_VISIBLE_DEVICES says of a device: a UUID or its beginning, a number, or "" where it isn't set."""
    entries = [e.strip() for e in environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return entries[device] if 0 <= device < len(entries) else ""
