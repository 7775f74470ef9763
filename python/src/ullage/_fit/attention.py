"""Chooses the kernel of scaled_dot_product_attention as torch does on the card that the program is shown.

Torch's own choice (select_sdp_backend in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp) asks the driver, and without one falls
back to plain matrix products, which materialise what the others never do: gigabytes. The conditions here are those of torch 2.10 and
later: flash attention, then memory-efficient, then math; cuDNN's where the program asks for nothing else, or sets TORCH_CUDNN_SDPA_PREFERRED.
"""
from __future__ import annotations

import os
from typing import Any, Optional

import torch
import torch.nn.functional as F

aten = torch.ops.aten
_library: Optional[torch.library.Library] = None

HALVES = (torch.float16, torch.bfloat16)


class Chooser:
    """The choice on a card of a compute capability."""

    def __init__(self, capability: tuple[int, int]) -> None:
        self.capability = capability

    def choose(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> str:
        """Returns "flash", "efficient", "cudnn" or "math"."""
        c: Any = torch._C
        order = ["flash", "efficient", "cudnn"]
        if os.environ.get("TORCH_CUDNN_SDPA_PREFERRED") == "1" and self.capability in ((9, 0), (10, 0)):
            order = ["cudnn", "flash", "efficient"]
        enabled = {"flash": c._get_flash_sdp_enabled(), "efficient": c._get_mem_efficient_sdp_enabled(), "cudnn": c._get_cudnn_sdp_enabled()}
        fits = {"flash": self._flash, "efficient": self._efficient, "cudnn": self._cudnn}
        if q.dim() == k.dim() == v.dim() == 4 and all(t.stride(-1) == 1 or t.size(-1) == 1 for t in (q, k, v)) and _have_elements(q, k, v):
            for name in order:
                if enabled[name] and fits[name](q, k, v, mask, dropout_p, is_causal, enable_gqa):
                    return name
        return "math"

    def _flash(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        width = q.size(-1)
        if mask is not None or self.capability < (8, 0) or q.dtype not in HALVES:
            return False
        if not (width == k.size(-1) == v.size(-1) and width <= 256) or (is_causal and q.size(2) != k.size(2)):
            return False
        needs_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))
        consumer = self.capability in ((8, 6), (8, 9), (12, 0), (12, 1))
        if consumer and needs_grad and width > 192 and (width <= 224 or dropout_p > 0):
            return False
        return _same_heads(q, k, v) or (enable_gqa and _grouped_heads(q, k, v))

    def _efficient(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        allowed = (*HALVES, torch.float32) if self.capability >= (8, 0) else (torch.float16, torch.float32)
        if self.capability < (5, 0) or q.dtype not in allowed or not _same_heads(q, k, v):
            return False
        half = q.dtype in HALVES
        aligned = 8 if half and self.capability >= (7, 0) else 4 if self.capability >= (8, 0) else 1
        return bool(q.size(-1) % aligned == 0 and v.size(-1) % aligned == 0 and q.size(-1) == k.size(-1))

    def _cudnn(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        if self.capability < (8, 0) or q.dtype not in HALVES or not torch.backends.cudnn.enabled:
            return False
        width = max(q.size(-1), v.size(-1))
        limit = 256 if self.capability[0] == 9 and not torch.is_grad_enabled() else 128
        return width <= limit and q.size(-1) % 8 == 0 and v.size(-1) % 8 == 0 and (_same_heads(q, k, v) or enable_gqa)


def _have_elements(*tensors: Any) -> bool:
    return all(t.size(2) > 0 and t.size(0) > 0 for t in tensors)


def _same_heads(q: Any, k: Any, v: Any) -> bool:
    return bool(q.size(0) == k.size(0) == v.size(0) and q.size(1) == k.size(1) == v.size(1))


def _grouped_heads(q: Any, k: Any, v: Any) -> bool:
    same_batch = q.size(0) == k.size(0) == v.size(0)
    return bool(same_batch and k.size(1) == v.size(1) and q.size(1) % k.size(1) == 0)


def install(chooser: Chooser) -> None:
    """Registers the choice for tensors of the GPU, beneath autocast and above autograd of the kernels themselves."""
    global _library

    def attention(
        q: Any, k: Any, v: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *, scale: Optional[float] = None, enable_gqa: bool = False
    ) -> Any:
        choice = chooser.choose(q, k, v, attn_mask, dropout_p, is_causal, enable_gqa)
        mask = _additive(attn_mask, q.dtype)
        return _RUN[choice](q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)

    _library = torch.library.Library("aten", "IMPL")
    for key in ("AutogradCUDA", "CUDA"):
        _library.impl("scaled_dot_product_attention", attention, key)


def _additive(mask: Any, dtype: torch.dtype) -> Any:
    """A mask of booleans as numbers to be added."""
    if mask is None or mask.dtype is not torch.bool:
        return mask
    zero = torch.zeros((), dtype=dtype, device=mask.device)
    return torch.where(mask, zero, torch.full((), float("-inf"), dtype=dtype, device=mask.device))


def _flash(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> Any:
    width = q.size(-1)
    scale = width**-0.5 if scale is None else scale
    if width % 8:
        q, k, v = (F.pad(t, (0, 8 - width % 8)) for t in (q, k, v))
    out = aten._scaled_dot_product_flash_attention.default(q, k, v, dropout_p, is_causal, False, scale=scale)[0]
    return out[..., :width] if width % 8 else out


def _needs_logsumexp(q: Any, k: Any, v: Any) -> bool:
    return torch.is_grad_enabled() and any(t.requires_grad for t in (q, k, v))


def _efficient(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> Any:
    if mask is not None:
        mask = _aligned(mask, q, k)
    keep = _needs_logsumexp(q, k, v) or (mask is not None and mask.requires_grad)
    return aten._scaled_dot_product_efficient_attention.default(q, k, v, mask, keep, dropout_p, is_causal, scale=scale)[0]


def _aligned(mask: Any, q: Any, k: Any) -> Any:
    """A mask whose rows the kernel can read 16 elements at a time: others are padded and seen through a window."""
    width = mask.size(-1)
    if width % 16 or not _rows_are_aligned(mask):
        mask = F.pad(mask, (0, 16 - width % 16))[..., :width]
    return mask.expand(q.size(0), q.size(1), q.size(2), k.size(2))


def _rows_are_aligned(mask: Any) -> bool:
    return all(stride % 16 == 0 for size, stride in zip(mask.shape[:-1], mask.stride()[:-1]) if size > 1)


def _cudnn(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> Any:
    keep = _needs_logsumexp(q, k, v)
    return aten._scaled_dot_product_cudnn_attention.default(q, k, v, mask, keep, dropout_p, is_causal, False, scale=scale)[0]


def _math(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, scale: Any, enable_gqa: bool) -> Any:
    return aten._scaled_dot_product_attention_math(q, k, v, mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa)[0]


_RUN = {"flash": _flash, "efficient": _efficient, "cudnn": _cudnn, "math": _math}
