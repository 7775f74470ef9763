"""Chooses the kernel of scaled_dot_product_attention as torch does on the card that the program is shown.

Torch's own choice (select_sdp_backend in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp) asks the driver, and without one falls
back to plain matrix products, which materialise what the others never do: gigabytes. The conditions here are those of torch 2.10 to
2.14: cuDNN's kernel first on cards of compute capability 9.0 and 10.0 with cuDNN above 9.15 (pytorch#169849), then flash attention,
memory-efficient, math. Recordings made on an H200 with torch 2.11 show the same choices.
"""
from __future__ import annotations

import os
from typing import Any, Optional

import torch
import torch.nn.functional as F

aten = torch.ops.aten
_library: Any = None

_NAMES = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}  # at::SDPBackend
HALVES = (torch.float16, torch.bfloat16)


class Chooser:
    """The choice on a card of a compute capability, with a version of cuDNN (91900 for 9.19)."""

    def __init__(self, capability: tuple[int, int], cudnn: int) -> None:
        self.capability, self.cudnn = capability, cudnn

    def choose(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> str:
        """Returns "flash", "efficient", "cudnn" or "math"."""
        c: Any = torch._C
        enabled = {"flash": c._get_flash_sdp_enabled(), "efficient": c._get_mem_efficient_sdp_enabled(), "cudnn": c._get_cudnn_sdp_enabled(), "math": True}
        fits = {"flash": self._flash, "efficient": self._efficient, "cudnn": self._cudnn, "math": lambda *_: True}
        if q.dim() == k.dim() == v.dim() == 4 and _have_elements(q, k, v):
            for name in self._order():
                if enabled[name] and fits[name](q, k, v, mask, dropout_p, is_causal, enable_gqa):
                    return name
        return "math"

    def _order(self) -> list[str]:
        """The order in which kernels are tried: the program's, where it has set one."""
        asked = [_NAMES.get(int(n), "") for n in torch._C._get_sdp_priority_order()]
        if asked[:4] != ["flash", "efficient", "math", "cudnn"]:
            return [name for name in asked if name]
        preferred = self.cudnn > 91500 and self.capability in ((9, 0), (10, 0)) and os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") != "1"
        return ["cudnn", "flash", "efficient", "math"] if preferred else asked[:4]

    def _flash(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        width = q.size(-1)
        if mask is not None or self.capability < (8, 0) or q.dtype not in HALVES or not _rows_are_dense(q, k, v):
            return False
        if not (width == k.size(-1) == v.size(-1) and width <= 256) or (is_causal and q.size(2) != k.size(2)):
            return False
        consumer = self.capability in ((8, 6), (8, 9), (12, 0), (12, 1))
        if consumer and _needs_logsumexp(q, k, v) and width > 192 and (width <= 224 or dropout_p > 0):
            return False
        return _same_heads(q, k, v) or (enable_gqa and _grouped_heads(q, k, v))

    def _efficient(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        allowed = (*HALVES, torch.float32) if self.capability >= (8, 0) else (torch.float16, torch.float32)
        if self.capability < (5, 0) or q.dtype not in allowed or not _same_heads(q, k, v):
            return False
        if any(t is not None and t.stride(-1) != 1 for t in (q, k, v, mask)):
            return False
        half = q.dtype in HALVES
        aligned = 8 if half and self.capability >= (7, 0) else 4 if self.capability >= (8, 0) else 1
        return bool(q.size(-1) % aligned == 0 and v.size(-1) % aligned == 0 and q.size(-1) == k.size(-1))

    def _cudnn(self, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_causal: bool, enable_gqa: bool) -> bool:
        if self.capability < (8, 0) or self.cudnn < 90000 or q.dtype not in HALVES or not _rows_are_dense(q, k, v, mask):
            return False
        if mask is not None and not _suits(mask, q, k):
            return False
        if torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled():
            return False
        if dropout_p > 0 and 91100 < self.cudnn < 91400 or k.size(2) == 1 or (q.size(2) == 1 and dropout_p > 0):
            return False
        limit = 256 if self.capability == (9, 0) and self.cudnn >= 91000 else 128
        if self.capability[0] == 10 and self.cudnn >= 91100 and (q.size(-1), v.size(-1)) == (192, 128):
            limit = 192
        fits = max(q.size(-1), v.size(-1)) <= limit and q.size(-1) % 8 == 0 and v.size(-1) % 8 == 0
        return fits and (_same_heads(q, k, v) or (enable_gqa and _grouped_heads(q, k, v)))


def _rows_are_dense(*tensors: Any) -> bool:
    return all(t is None or t.stride(-1) == 1 or t.size(-1) == 1 for t in tensors)


def _suits(mask: Any, q: Any, k: Any) -> bool:
    """Whether a mask needs no gradient, as a learned bias does, and goes with the scores (check_attn_mask_shape in sdp_utils_cpp.h)."""
    if mask.requires_grad or mask.dim() not in (2, 4):
        return False
    scores = (q.size(0), q.size(1), q.size(2), k.size(2))[4 - mask.dim() :]
    return all(size in (1, full) for size, full in zip(mask.shape, scores))


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

    library: Any = torch.library.Library
    _library = library("aten", "IMPL")
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
