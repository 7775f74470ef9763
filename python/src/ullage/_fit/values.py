"""Answers to what a program asks of values that only a GPU would have.

A tensor of the GPU has no values here. A number that the program reads of one is a stand-in: 1 for floating point, 0 for integers, and
for booleans what lets a program go on: all and isfinite hold, comparisons and any do not. Small tensors whose values came
from the program itself (lengths, masks, a scaler's counters) keep them: `known` has a real copy, as long as every operator on them
can be run on the copies too. Shapes that depend on unknown values are taken as large as they can be.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .faults import Unsupported

if TYPE_CHECKING:
    from .mode import TraceMode

aten = torch.ops.aten
NONE = object()  # no answer: the operator is to be run as it is

READS = 100_000  # of one line: more than an evaluation that counts its hits one by one, in some two minutes
STAND_IN_BYTES = 1 << 20  # of the largest copy on the CPU that gets values; a larger one stays fake

_FACTORIES = {
    "aten::empty", "aten::empty_strided", "aten::empty_permuted", "aten::zeros", "aten::ones", "aten::full", "aten::rand", "aten::randn",
    "aten::randint", "aten::eye", "aten::normal",
    "aten::empty_like", "aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::rand_like", "aten::randn_like", "aten::randint_like",
    "aten::new_empty", "aten::new_zeros", "aten::new_ones", "aten::new_full", "aten::new_empty_strided",
}  # fmt: skip


def _always(args: Any) -> bool:
    return True


def _both_hold(args: Any) -> bool:
    return all(getattr(t, "_ullage_holds", False) for t in args[:2])


# What a program checks before it goes on, by operator. isfinite is made of others: x == x, |x| != inf, and the product of both.
_HOLDS: dict[Any, Callable[[Any], bool]] = {
    aten.all.default: _always,
    aten.all.dim: _always,
    aten.all.dims: _always,
    aten._is_all_true.default: _always,
    aten.eq.Tensor: lambda args: args[0] is args[1],
    aten.ne.Scalar: lambda args: args[1] == float("inf"),
    aten.mul.Tensor: _both_hold,
    aten.logical_and.default: _both_hold,
    aten.bitwise_and.Tensor: _both_hold,
}


def holds(func: Any, args: Any) -> bool:
    """Whether the result of an operator is true in all elements as far as a program that goes on has to believe."""
    rule = _HOLDS.get(func)
    return rule is not None and rule(args)


def is_factory(func: Any) -> bool:
    """Whether an operator makes a tensor out of nothing, with values that nobody has chosen one by one."""
    schema = getattr(func, "_schema", None)
    return schema is not None and schema.name in _FACTORIES


def factory_bytes(func: Any, args: Any, kwargs: Any) -> int:
    """The size of what a factory would make, or 0 where that cannot be told."""
    like = args[0] if args and isinstance(args[0], torch.Tensor) else None
    dtype = kwargs.get("dtype") or (like.dtype if like is not None else torch.get_default_dtype())
    shape: Any = ()
    for value in [*args, kwargs.get("size"), kwargs.get("self")]:
        if isinstance(value, (list, tuple, torch.Size)):
            shape = value
            break
    else:
        shape = like.shape if like is not None else [a for a in args[:2] if isinstance(a, int)]
    count = 1
    for n in shape:
        count *= int(n)
    return count * dtype.itemsize


def stand_in(t: torch.Tensor) -> Any:
    """The number that a program reads of an unknown element of t."""
    if t.dtype is torch.bool:
        return bool(getattr(t, "_ullage_holds", False))
    return 1.0 if t.dtype.is_floating_point or t.dtype.is_complex else 0


def answer(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """What a call gives that fakes alone could not tell, or NONE."""
    handler = _ANSWERS.get(func)
    if handler is None:
        return NONE
    return handler(mode, func, args, kwargs, fakes)


def _where(mode: "TraceMode") -> Optional[int]:
    import sys

    stack = mode.trace.stack(sys._getframe(3))
    return None if stack < 0 else stack


def _told(mode: "TraceMode", number: Any, where: Optional[int]) -> None:
    """Notes a stand-in that the program was told, and ends one that only waits for another answer."""
    if where is not None:
        count = mode.reads[where] = mode.reads.get(where, 0) + 1
        if count >= READS:
            raise Unsupported(f"the program read a value of the GPU {READS:,} times at one line: it waits for it to change, and it is always {number} here; end the loop after a number of rounds")
    mode.trace.note("value", str(number), where)


def _scalar(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    t = args[0]
    value = mode.known.of(t)
    if value is not None:
        return value.item()
    number = stand_in(t)
    _told(mode, number, _where(mode))
    return number


def _copy_from_gpu(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """A copy to the CPU: real, with stand-ins for values, unless it is large."""
    source, device = args[0], kwargs.get("device")
    if device is None or device.type != "cpu" or not isinstance(source, FakeTensor) or source.fake_device.type == "cpu":
        return NONE
    dtype = kwargs.get("dtype") or source.dtype
    if source.numel() * dtype.itemsize > STAND_IN_BYTES or source.layout is not torch.strided:
        return NONE
    value = mode.known.of(source)
    mode.note_call(func, args, kwargs)
    if value is not None:
        return value.to(dtype, copy=True)
    _told(mode, stand_in(source), _where(mode))
    return torch.full(source.shape, stand_in(source), dtype=dtype)


def _copy_into(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """A copy into a real tensor of the CPU: stand-ins."""
    into, source = args[0], args[1]
    if isinstance(into, FakeTensor) or not isinstance(source, FakeTensor):
        return NONE
    value = mode.known.of(source)
    if source.fake_device.type == "cuda":
        mode.note_call(func, args, kwargs)
    if value is not None:
        return into.copy_(value)
    return into.fill_(stand_in(source))


def _count_is_unknown(mode: "TraceMode", text: str) -> None:
    mode.trace.note("size", text, _where(mode))


def _nonzero(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    t = args[0]
    value = mode.known.of(t)
    if value is None:
        count = t.numel()
        _count_is_unknown(mode, f"nonzero of {tuple(t.shape)}: all")
    else:
        count = int(value.count_nonzero())
    result = mode.made(func, args, kwargs, [count, t.dim()], torch.int64, t)
    if value is not None:
        mode.known.remember(result, value.nonzero())
    return result


def _masked_select(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    t, mask = args[0], args[1]
    value = mode.known.of(mask)
    shape: tuple[int, ...] = torch.broadcast_shapes(t.shape, mask.shape)  # type: ignore[no-untyped-call]
    count = 1
    for n in shape:
        count *= n
    if value is None:
        _count_is_unknown(mode, f"masked_select of {tuple(shape)}: all")
    else:
        count = int(value.expand(shape).count_nonzero())
    return mode.made(func, args, kwargs, [count], t.dtype, t)


def _index(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """Indexing with masks: they are turned into indices first, as the kernel does."""
    indices = args[1]
    if not any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in indices):
        return NONE
    with mode:
        return func(args[0], _without_masks(indices), *args[2:], **kwargs)


def _without_masks(indices: Any) -> list[Any]:
    flat: list[Any] = []
    for index in indices:
        if isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8):
            flat.extend(index.nonzero().unbind(1))
        else:
            flat.append(index)
    return flat


def _unique(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    t = args[0]
    value = mode.known.of(t)
    if value is not None:
        with mode:
            outs = [torch.empty(o.shape, dtype=o.dtype, device=t.fake_device) for o in func(value, *args[1:], **kwargs)]
        return tuple(outs)
    _count_is_unknown(mode, f"unique of {tuple(t.shape)}: all")
    with mode:
        outs = [torch.empty(t.numel(), dtype=t.dtype, device=t.fake_device)]
        for _ in range(2):
            outs.append(torch.empty(t.shape, dtype=torch.int64, device=t.fake_device))
    return tuple(outs)


def _repeat(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    repeats = args[0]
    value = mode.known.of(repeats)
    count = kwargs.get("output_size")
    if count is None and value is not None:
        count = int(value.sum())
    if count is None:
        count = repeats.numel()
        _count_is_unknown(mode, "repeat_interleave: each once")
    return mode.made(func, args, kwargs, [int(count)], torch.int64, repeats)


def _put(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """Writing through a mask: one value is filled in without indices, as the kernel does; others go by the indices."""
    masks = [i for i in args[1] if isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8)]
    if not masks or not isinstance(args[0], FakeTensor):
        return NONE
    if args[2].numel() == 1:
        with mode:
            return args[0].mul_(1)
    with mode:
        return func(args[0], _without_masks(args[1]), *args[2:], **kwargs)


def _safe_softmax(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """As _safe_softmax in aten/src/ATen/native/transformers/attention.cpp, which is made of other operators."""
    t, dim, dtype = args[0], args[1], kwargs.get("dtype")
    with mode:
        out = aten._softmax.default(t if dtype is None else t.to(dtype), dim, False)
        masked_rows = aten.all.dim(aten.eq.Scalar(t, float("-inf")), dim, True)
        return out.masked_fill_(masked_rows, torch.scalar_tensor(0.0, dtype=out.dtype, device=out.device))


def _equal(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    return bool(args[0].shape == args[1].shape)


def _bincount(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    value, weights = mode.known.of(args[0]), args[1] if len(args) > 1 else None
    least = int(args[2]) if len(args) > 2 else int(kwargs.get("minlength", 0))
    count = max(least, int(value.max()) + 1 if value is not None and value.numel() else 0)
    if value is None:
        _count_is_unknown(mode, f"bincount: {count} bins")
    return mode.made(func, args, kwargs, [count], torch.int64 if weights is None else weights.dtype, args[0])


def _pack(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """Packing sequences whose lengths the CPU knows: the time steps of each, longest first."""
    data, batch_first = args[0], bool(args[2])
    lengths = mode.known.of(args[1])
    if lengths is None:
        return NONE
    longest = int(lengths.max())
    sizes = torch.tensor([int((lengths > step).sum()) for step in range(longest)], dtype=torch.int64)
    packed = mode.made(func, args, kwargs, [int(lengths.sum()), *data.shape[2:]], data.dtype, data)
    assert not batch_first or data.dim() >= 2
    return packed, sizes


def _pad_gradient(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    return mode.made(func, args, kwargs, [int(n) for n in args[1]], args[0].dtype, args[0])


def _ctc(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """The losses of a batch, and the table of the forward pass, whose width is that of the longest target."""
    scores, targets, target_lengths = args[0], args[1], args[3]
    steps, batch = (scores.shape[0], scores.shape[1]) if scores.dim() == 3 else (scores.shape[0], 1)
    lengths = target_lengths if isinstance(target_lengths, (list, tuple)) else mode.known.of(target_lengths)
    longest = targets.shape[-1] if lengths is None else max(int(n) for n in lengths)
    losses = mode.made(func, args, kwargs, [batch], scores.dtype, scores)
    return losses, mode.made(func, args, kwargs, [batch, steps, 2 * longest + 1], scores.dtype, scores)


def _never(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """cuDNN's loss takes targets of the CPU in 32 bits only."""
    return False


def _ctc_gradient(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    return mode.made(func, args, kwargs, list(args[1].shape), args[1].dtype, args[1])


def _cudnn_rnn_gradient(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """The gradients of input, states and weights. Those of the weights are windows on one buffer."""
    x, weights, hx, cx = args[0], args[1], args[4], args[5]
    grads = [mode.made(func, args, kwargs, list(t.shape), t.dtype, t) if t is not None else None for t in (x, hx, cx)]
    buffer: Any = mode.made(func, args, kwargs, [sum(w.numel() for w in weights)], x.dtype, x)
    with mode:
        parts = [part.view(w.shape) for part, w in zip(buffer.split([w.numel() for w in weights]), weights)]
    return (*grads, parts)


def _suppressed(mode: "TraceMode", boxes: torch.Tensor, *rest: Any) -> Any:
    """The boxes that do not overlap with better ones, by number."""
    _count_is_unknown(mode, f"nms of {boxes.shape[0]} boxes: all are kept")
    return mode.form([boxes.shape[0]], torch.int64, boxes)


def _sparse_mask(mode: "TraceMode", t: torch.Tensor, mask: torch.Tensor, *rest: Any) -> Any:
    """What a dense tensor has where a sparse one has elements."""
    indices, elements = mask._indices(), mask._values()
    with mode:
        taken = torch.empty(elements.shape, dtype=t.dtype, device=t.device)
        form = {"dtype": t.dtype, "layout": mask.layout, "device": t.device, "is_coalesced": mask.is_coalesced()}
        return aten._sparse_coo_tensor_with_dims_and_tensors.default(mask.sparse_dim(), mask.dense_dim(), mask.shape, indices, taken, **form)


def _same(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    """Pinning memory of the CPU changes nothing here."""
    return args[0]


def _on_cpu(mode: "TraceMode", func: Any, args: Any, kwargs: Any, fakes: list[Any]) -> Any:
    return args[0].device.type == "cpu"


def real(func: Any, args: Any, kwargs: Any) -> Any:
    """Runs an operator that has only to do with real tensors of the CPU. None is pinned."""
    if func is aten._pin_memory.default:
        return args[0].clone()
    if func is aten.is_pinned.default:
        return True
    return func(*args, **kwargs)


_ANSWERS: dict[Any, Callable[..., Any]] = {
    aten._local_scalar_dense.default: _scalar,
    aten._to_copy.default: _copy_from_gpu,
    aten.copy_.default: _copy_into,
    aten.nonzero.default: _nonzero,
    aten.masked_select.default: _masked_select,
    aten.index.Tensor: _index,
    aten.index_put_.default: _put,
    aten._unique2.default: _unique,
    aten.unique_consecutive.default: _unique,
    aten.unique_dim.default: _unique,
    aten.repeat_interleave.Tensor: _repeat,
    aten._safe_softmax.default: _safe_softmax,
    aten.equal.default: _equal,
    aten.bincount.default: _bincount,
    aten._pack_padded_sequence.default: _pack,
    aten._pack_padded_sequence_backward.default: _pad_gradient,
    aten._use_cudnn_ctc_loss.default: _never,
    aten._use_cudnn_ctc_loss.Tensor: _never,
    aten._ctc_loss.default: _ctc,
    aten._ctc_loss.Tensor: _ctc,
    aten._ctc_loss_backward.default: _ctc_gradient,
    aten._ctc_loss_backward.Tensor: _ctc_gradient,
    aten._cudnn_rnn_backward.default: _cudnn_rnn_gradient,
    aten._pin_memory.default: _same,
    aten.is_pinned.default: _on_cpu,
}
if hasattr(aten, "_use_miopen_ctc_loss"):  # from torch 2.11 on
    _ANSWERS.update(dict.fromkeys((aten._use_miopen_ctc_loss.default, aten._use_miopen_ctc_loss.Tensor), _never))

# What comes of operators that torch has no rule for, by name: they are looked for where torch has failed, as some come with libraries.
SIZES: dict[str, Callable[..., Any]] = {
    "torchvision.nms.default": _suppressed,
    "aten.sparse_mask.default": _sparse_mask,
}
