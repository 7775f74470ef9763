"""What pools raise."""
from __future__ import annotations

from typing import Any

import torch

from .. import _units

# torch 2.5 gave it this name; torch.cuda's is the same class since.
_Base: Any = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError


class PoolOutOfMemory(_Base):  # type: ignore[misc]
    """A pool, or a cache in one, has no room for what was asked. A torch.OutOfMemoryError, so what handles those handles it.

    pool is the name; asked_bytes what was wanted; used_bytes what is taken of limit_bytes, which is None where nothing but the
    device limits it.
    """

    def __init__(self, message: str, pool: str, asked_bytes: int, used_bytes: int, limit_bytes: Any) -> None:
        super().__init__(message)
        self.pool, self.asked_bytes, self.used_bytes, self.limit_bytes = pool, asked_bytes, used_bytes, limit_bytes


class PoolInUse(RuntimeError):
    """Memory was to be given back that tensors still refer to."""

    def __init__(self, message: str, live_bytes: int) -> None:
        super().__init__(message)
        self.live_bytes = live_bytes


def over_limit(pool: str, asked_bytes: int, used_bytes: int, limit_bytes: int, live_bytes: int) -> PoolOutOfMemory:
    """The pool's own limit was met."""
    return PoolOutOfMemory(
        f"{pool} is full: {_units.size(asked_bytes)} more asked, {_units.size(used_bytes)} of its limit of {_units.size(limit_bytes)} "
        f"taken, {_units.size(live_bytes)} of them in tensors\nhint: give it a higher limit=, or less work at a time; what is taken and not "
        "in tensors is in pieces too small for this request", pool, asked_bytes, used_bytes, limit_bytes)


def device_full(pool: str, asked_bytes: int, used_bytes: int, limit_bytes: Any) -> PoolOutOfMemory:
    """The device has none left, whatever the pool's limit is."""
    within = "" if limit_bytes is None else f" of its limit of {_units.size(limit_bytes)}"
    return PoolOutOfMemory(
        f"{pool} has taken {_units.size(used_bytes)}{within}, and the device has no {_units.size(asked_bytes)} left for it: others hold it"
        "\nhint: reserve= takes a pool's memory in advance", pool, asked_bytes, used_bytes, limit_bytes)
