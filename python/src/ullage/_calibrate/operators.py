"""The cases besides convolutions: calls of which the model computes what they take, in shapes that make kernels choose differently.

A case runs as a program would run it. Which of the operators that it calls are looked at, GROUPS says; the names of its values are those
of the terms in docs/fit.md.
"""
from __future__ import annotations

import itertools
from functools import partial
from typing import Any, Callable, Iterator

GROUPS = {
    **{f"_scaled_dot_product_{kind}_attention{way}": "attention" for kind in ("flash", "efficient", "cudnn") for way in ("", "_backward")},
    **dict.fromkeys(("sort", "_unique2", "embedding_dense_backward", "index_put_", "_index_put_impl_"), "sorting"),
    **dict.fromkeys(("sum", "mean", "amax", "linalg_vector_norm"), "reduction"),
    **dict.fromkeys(("native_layer_norm_backward", "_fused_rms_norm_backward", "native_group_norm_backward"), "temporary"),
    "_softmax_backward_data": "temporary",
    **dict.fromkeys(("_cudnn_rnn", "_cudnn_rnn_backward"), "recurrent"),
}
Case = Callable[[], Any]
DEVICE = "cuda"


def cases(torch: Any) -> Iterator[Case]:
    """All of them, the kinds taking turns, so that each has some wherever the time ends."""
    kinds = [attention(torch), sorting(torch), reductions(torch), norms(torch), recurrent(torch)]
    for turn in itertools.zip_longest(*kinds):
        yield from (case for case in turn if case is not None)


def _gradients(torch: Any, run: Callable[..., Any], *inputs: Any) -> None:
    """Runs forwards and backwards."""
    out = run(*inputs)
    torch.autograd.grad(out, [i for i in inputs if i.requires_grad], torch.ones_like(out))


def _tensor(torch: Any, dtype: Any, *shape: int) -> Any:
    return torch.zeros(shape, device=DEVICE, dtype=dtype, requires_grad=True)


def attention(torch: Any) -> Iterator[Case]:
    half = torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16
    sizes = [
        (2, 12, 512, 64), (8, 16, 1024, 128), (1, 8, 128, 32), (1, 2, 2048, 64), (4, 12, 197, 64),
        (2, 8, 512, 80), (2, 8, 512, 96), (2, 4, 512, 256), (30, 12, 128, 64), (16, 8, 1024, 64),
    ]
    for (batch, heads, rows, width), dtype, masked in itertools.product(sizes, (half, torch.float32), (False, True)):
        yield partial(_attend, torch, dtype, batch, heads, heads, rows, width, masked)
    for batch, heads, rows, width in sizes[:2]:
        yield partial(_attend, torch, half, batch, heads, heads // 4, rows, width, False)


def _attend(torch: Any, dtype: Any, batch: int, heads: int, key_heads: int, rows: int, width: int, masked: bool) -> None:
    query, key, value = (_tensor(torch, dtype, batch, h, rows, width) for h in (heads, key_heads, key_heads))
    mask = torch.zeros(batch, 1, rows, rows, device=DEVICE, dtype=dtype) if masked else None
    more = {"enable_gqa": True} if key_heads != heads else {}
    _gradients(torch, lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, mask, **more), query, key, value)


def sorting(torch: Any) -> Iterator[Case]:
    for n in (1000, 4000, 20000, 65536, 1 << 20, 1 << 22):
        for dtype in (torch.float32, torch.int64, torch.float16):
            yield partial(_sort, torch, n, dtype)
        yield partial(_unique, torch, n)
        for rows, width in ((30522, 768), (50257, 64)):
            yield partial(_embed, torch, min(n, 1 << 18), rows, width)
        yield partial(_put, torch, min(n, 1 << 18))


def _sort(torch: Any, n: int, dtype: Any) -> None:
    torch.zeros(n, device=DEVICE, dtype=dtype).sort()


def _unique(torch: Any, n: int) -> None:
    torch.randint(0, 5000, (n,), device=DEVICE).unique()


def _embed(torch: Any, n: int, rows: int, width: int) -> None:
    ids = torch.randint(0, rows, (n,), device=DEVICE)
    _gradients(torch, lambda table: torch.nn.functional.embedding(ids, table), _tensor(torch, torch.float32, rows, width))


def _put(torch: Any, n: int) -> None:
    into, ids = torch.zeros(30000, 64, device=DEVICE), torch.randint(0, 30000, (n,), device=DEVICE)
    into.index_put_((ids,), torch.zeros(n, 64, device=DEVICE), accumulate=True)


def reductions(torch: Any) -> Iterator[Case]:
    shapes = [(64, 10), (512, 768), (3840, 768), (8192, 4096), (65536, 512), (1, 50257), (262144, 64), (15360, 3072)]
    for shape, dtype in itertools.product(shapes, (torch.float32, torch.bfloat16)):
        for dims in ((0,), (1,), (0, 1)):
            yield partial(_reduce, torch, shape, dtype, lambda x, d: x.sum(d), dims)
        yield partial(_reduce, torch, shape, dtype, lambda x, d: torch.linalg.vector_norm(x, dim=d), (0, 1))
    for n, c, h in ((64, 64, 56), (64, 256, 14), (16, 3, 224), (300, 512, 5), (8, 1280, 7)):
        yield partial(_reduce, torch, (n, c, h, h), torch.float32, lambda x, d: x.sum(d), (0, 2, 3))
        yield partial(_reduce, torch, (n, c, h, h), torch.float32, lambda x, d: x.mean(d), (2, 3))


def _reduce(torch: Any, shape: tuple[int, ...], dtype: Any, function: Callable[[Any, Any], Any], dims: tuple[int, ...]) -> None:
    function(torch.zeros(shape, device=DEVICE, dtype=dtype), dims)


def norms(torch: Any) -> Iterator[Case]:
    for rows, columns in ((1024, 768), (8192, 1024), (65600, 96), (131072, 192), (262144, 64), (70000, 4096)):
        for dtype in (torch.float32, torch.bfloat16):
            yield partial(_layer_norm, torch, dtype, rows, columns)
        yield partial(_softmax, torch, rows, columns)
    for n, c, h in ((8, 64, 28), (64, 256, 14), (16, 320, 64)):
        yield partial(_group_norm, torch, n, c, h)


def _layer_norm(torch: Any, dtype: Any, rows: int, columns: int) -> None:
    of = [_tensor(torch, dtype, rows, columns), _tensor(torch, dtype, columns), _tensor(torch, dtype, columns)]
    _gradients(torch, lambda x, w, b: torch.nn.functional.layer_norm(x, (columns,), w, b), *of)


def _softmax(torch: Any, rows: int, columns: int) -> None:
    _gradients(torch, lambda x: x.softmax(-1), _tensor(torch, torch.float32, rows, columns))


def _group_norm(torch: Any, n: int, c: int, h: int) -> None:
    of = [_tensor(torch, torch.float32, n, c, h, h), _tensor(torch, torch.float32, c), _tensor(torch, torch.float32, c)]
    _gradients(torch, lambda x, w, b: torch.nn.functional.group_norm(x, 8, w, b), *of)


def recurrent(torch: Any) -> Iterator[Case]:
    for kind, rows, both in itertools.product(("LSTM", "GRU"), (16, 128), (False, True)):
        yield partial(_recur, torch, kind, rows, both)


def _recur(torch: Any, kind: str, rows: int, both: bool) -> None:
    model = getattr(torch.nn, kind)(256, 256, 2, bidirectional=both).to(DEVICE)
    _gradients(torch, lambda x, *weights: model(x)[0], _tensor(torch, torch.float32, rows, 32, 256), *model.parameters())
