"""Recurrent layers run on cuDNN's kernels, as they do on a GPU: torch's own code asks the driver on its way there."""
from __future__ import annotations

from typing import Any

import torch
from torch import _meta_registrations

aten = torch.ops.aten
_library: Any = None

_RELU, _TANH, _LSTM, _GRU = range(4)  # cudnnRNNMode_t
_RESERVED = {_RELU: 1, _TANH: 1, _LSTM: 5, _GRU: 6}  # values that a layer keeps of each step for its backward pass: 384 of 384 measured
_RESERVE_BYTES = 256  # besides
_DROPOUT_STATE_BYTES = 4 << 20  # of the states of cuDNN's dropout, kept for ever once made


def install() -> None:
    """Registers the layers for tensors of the GPU."""
    global _library
    library: Any = torch.library.Library
    _library = library("aten", "IMPL")
    _library.impl("_cudnn_rnn", _reserving(_meta_registrations._cudnn_rnn), "Meta", allow_override=True)
    for key in ("AutogradCUDA", "CUDA"):
        _library.impl("lstm.input", _lstm, key)
        _library.impl("lstm.data", _lstm_packed, key)
        for name, mode in (("gru", _GRU), ("rnn_tanh", _TANH), ("rnn_relu", _RELU)):
            _library.impl(f"{name}.input", _layer(mode), key)
            _library.impl(f"{name}.data", _packed_layer(mode), key)


def _reserving(original: Any) -> Any:
    """torch's rule for the shapes of a layer's results, but with the reserve: in torch's it is empty, for its size is cuDNN's matter."""

    def shapes(*args: Any) -> Any:
        out = list(original(*args))
        x, mode, hidden, layers, train, both = args[0], args[6], args[7], args[9], args[12], args[13]
        if train:
            values = x.numel() // max(x.size(-1), 1) * hidden * (2 if both else 1)
            kept = values * ((_RESERVED[mode] + 1) * layers - 1)
            out[3] = x.new_empty(_RESERVE_BYTES + kept * x.element_size(), dtype=torch.uint8)
        return tuple(out)

    return shapes


def _run(
    mode: int, x: Any, hx: Any, cx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, batch_sizes: Any
) -> tuple[Any, Any, Any]:
    if torch.is_autocast_enabled("cuda"):  # torch casts within the layer, weights into one buffer
        kind = torch.get_autocast_dtype("cuda")
        with torch.autocast("cuda", enabled=False):
            x, hx, cx = (None if t is None else t.to(kind) for t in (x, hx, cx))
            return _run(mode, x, hx, cx, [p.to(kind) for p in params], has_biases, num_layers, dropout, train, bidirectional, batch_first, batch_sizes)
    hidden = hx.size(-1)
    size = hidden if cx is None else cx.size(-1)
    state = torch.empty(_DROPOUT_STATE_BYTES, dtype=torch.uint8, device=x.device) if dropout > 0 and train else None
    each = (4 if has_biases else 2) + (1 if size != hidden else 0)
    projected = hidden if size != hidden else 0
    flat = torch.empty(0, dtype=x.dtype, device=x.device)  # where flatten_parameters would have put the weights, which takes no more than they do
    out = aten._cudnn_rnn.default(
        x, list(params), each, flat, hx, cx, mode, size, projected, num_layers, batch_first, dropout, train, bidirectional, batch_sizes, state
    )
    return out[0], out[1], out[2]


def _lstm(x: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
    return _run(_LSTM, x, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional, batch_first, [])


def _lstm_packed(data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Any:
    return _run(_LSTM, data, hx[0], hx[1], params, has_biases, num_layers, dropout, train, bidirectional, False, batch_sizes.tolist())


def _layer(mode: int) -> Any:
    def layer(x: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
        return _run(mode, x, hx, None, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, [])[:2]

    return layer


def _packed_layer(mode: int) -> Any:
    def layer(data: Any, batch_sizes: Any, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool) -> Any:
        return _run(mode, data, hx, None, params, has_biases, num_layers, dropout, train, bidirectional, False, batch_sizes.tolist())[:2]

    return layer
