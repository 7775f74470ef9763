"""Grouped products, as mixtures of experts run them, in the types that a GPU takes them in.

torch's rule for tensors without contents knows bfloat16 only; the operator multiplies group by group in float32 and float16, without memory of its own
(ATen/native/cuda/GroupedBlas.cpp, _grouped_mm_fallback).
"""
from __future__ import annotations

from typing import Any

import torch
from torch import _meta_registrations as registrations

_OTHER_TYPES = (torch.float32, torch.float16)


def install() -> None:
    """Widens torch's rule, where this version has the one that is known."""
    rule: Any = getattr(registrations, "_meta_grouped_mm_common", None)
    result_of: Any = getattr(registrations, "_create_grouped_mm_output_tensor", None)
    if rule is None or result_of is None:
        return

    def grouped(mat_a: Any, mat_b: Any, *args: Any, **kwargs: Any) -> Any:
        if not args and mat_a.dtype == mat_b.dtype and mat_a.dtype in _OTHER_TYPES:
            return result_of(mat_a, mat_b, kwargs.get("offs"), kwargs.get("out_dtype") or mat_a.dtype)
        return rule(mat_a, mat_b, *args, **kwargs)

    setattr(registrations, "_meta_grouped_mm_common", grouped)
