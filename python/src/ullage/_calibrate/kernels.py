"""What products, convolutions and other operators take from the caching allocator for themselves, as its own history shows it.

Most of the time goes into loading kernels and into cuDNN's plans, so the work is shared: one process has all but convolutions,
others a share each of the list of convolutions in config.json. All import torch first, and begin when a line with the moment at
which to end comes in.
"""
from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .._fit import signature
from . import operators
from .history import Recorder, Window, of_torch

DTYPES = {"tf32": torch.float32, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
aten = torch.ops.aten


def say(**row: Any) -> None:
    print(json.dumps(row, separators=(",", ":")), flush=False)


# --- products


def kept_bytes(window: Window) -> list[int]:
    """What stays of a product besides its result, which is asked for first."""
    sizes = window.sizes()
    return [sizes[i] for i in window.kept() if i > 0]


def products(recorder: Recorder) -> None:
    """The workspaces that cuBLAS and cuBLASLt keep: for the first product, one with a bias, one on another stream; each twice."""
    a, bias = torch.zeros(512, 512, device=operators.DEVICE), torch.zeros(512, device=operators.DEVICE)
    half = a.to(torch.float16)
    forms: list[tuple[str, Callable[[], Any]]] = [
        ("mm", lambda: aten.mm(a, a)), ("half", lambda: aten.mm(half, half)), ("addmm", lambda: aten.addmm(bias, a, a)),
    ]
    for _ in range(2):
        for what, form in forms:
            torch._C._cuda_clearCublasWorkspaces()
            product(recorder, what, form)
        stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(stream):
            product(recorder, "stream", forms[0][1])
        stream.synchronize()


def product(recorder: Recorder, what: str, form: Callable[[], Any]) -> None:
    def receive(result: Any) -> Callable[[Window], None]:
        return lambda window: say(e="product", what=what, kept=kept_bytes(window))

    recorder.run(form, receive)


# --- operators


_Mode: Any = TorchDispatchMode


class Watch(_Mode):  # type: ignore[misc]
    """Records the calls of some operators, whatever calls them."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        group = operators.GROUPS.get(func._schema.name.partition("::")[2])
        if group is None:
            return func(*args, **kwargs)

        def receive(result: Any) -> Callable[[Window], None]:
            outs: list[torch.Tensor] = []
            signature.tensors_in(result, outs)
            row = signature.describe(func, args, kwargs, outs)
            at = {t.untyped_storage().data_ptr() for t in outs if t.device.type == operators.DEVICE}
            return lambda window: say_call(group, row, at, window)

        return self.recorder.run(lambda: func(*args, **kwargs), receive)


def say_call(group: str, row: dict[str, Any], results: set[int], window: Window) -> None:
    """A line about a call: its form, what it asked for, and which requests are its results."""
    new = [i for i in window.kept() if window.addresses[i] in results]
    say(e="call", term=group, **row, events=window.events, results=new)


def other_operators(recorder: Recorder, until: float) -> None:
    watch = Watch(recorder)
    for case in operators.cases(torch):
        if time.time() > until:
            say(e="left", what="operators", why="the time was up")
            return
        try:
            with watch:
                case()
        except Exception as e:  # a card or release that can't run a case: the others count
            say(e="failed", error=f"{type(e).__name__}: {e}"[:200])
        if torch.cuda.memory_reserved() > 8 << 30:
            recorder.flush()
            torch.cuda.empty_cache()
    recorder.flush()


# --- convolutions


def affordable(free: int, n: int, c: int, h: int, w: int, k: int, r: int, s: int, stride: int, groups: int) -> bool:
    """Whether a convolution is quick (1 TFLOP), and has room for the kernel that cuDNN wants: six times its operands."""
    out = max(1, h // stride) * max(1, w // stride)
    fits = 6 * 4 * n * (c * h * w + k * out) < free and n * max(c * h * w, k * out) < 1 << 31
    return fits and 2 * n * k * out * (c // groups) * r * s < 1e12


class Convolution:
    """One case: forwards, and both gradients. Its line comes when all three windows are there."""

    def __init__(self, index: int) -> None:
        self.index, self.bytes = index, [-1, -1, -1]

    def receive(self, direction: int) -> Callable[[Any], Callable[[Window], None]]:
        def got(window: Window) -> None:
            self.bytes[direction] = workspace(window)
            if direction == 2:
                say(e="convolution", i=self.index, bytes=self.bytes)

        return lambda result: got

    def run(self, recorder: Recorder, mode: str, last: int, n: int, *layer: int) -> None:
        c, h, w, k, r, s, stride, pad, dilation, groups = layer
        torch.backends.cudnn.allow_tf32 = mode != "f32"
        layout: Any = torch.channels_last if last else torch.contiguous_format
        x = torch.empty((n, c, h, w), dtype=DTYPES[mode], device=operators.DEVICE, memory_format=layout)
        weight = torch.empty((k, c // groups, r, s), dtype=DTYPES[mode], device=operators.DEVICE, memory_format=layout)
        pads = [pad if q > 1 or r == s else 0 for q in (r, s)]  # a kernel of 1 in one direction has padding in the other
        args = ([stride, stride], pads, [dilation, dilation], False, [0, 0], groups)
        y = recorder.run(lambda: aten.convolution(x, weight, None, *args), self.receive(0))
        for direction, mask in ((1, [True, False, False]), (2, [False, True, False])):
            recorder.run(partial(aten.convolution_backward, y, x, weight, None, *args, mask), self.receive(direction))


def workspace(window: Window) -> int:
    """The one request besides the result, right after it and freed; 0 for none, -1 where there are others."""
    events = window.events
    if len(events) == 1 and events[0] > 0:
        return 0
    return events[1] if len(events) == 3 and events[0] > 0 and events[1] > 0 and events[2] == -2 else -1


def convolutions(recorder: Recorder, cases: list[tuple[int, list[Any]]], room: int, until: float) -> None:
    """Runs cases, each with its number, in memory of so many bytes."""
    tried = 0
    bf16 = torch.cuda.get_device_capability()[0] >= 8
    for index, (mode, last, n, *layer) in cases:
        if time.time() > until:
            break
        tried += 1
        c, h, w, k, r, s, stride, _, _, groups = layer
        if mode == "bf16" and not bf16 or not affordable(room, n, c, h, w, k, r, s, stride, groups):
            continue
        try:
            Convolution(index).run(recorder, mode, last, n, *layer)
        except (torch.cuda.OutOfMemoryError, RuntimeError) as e:
            say(e="failed", i=index, error=f"{type(e).__name__}: {e}"[:200])
            torch.cuda.empty_cache()
        if torch.cuda.memory_reserved() > room // 2:
            recorder.flush()
            torch.cuda.empty_cache()
    recorder.flush()
    say(e="convolutions", tried=tried, of=len(cases))


def main(share: int, shares: int) -> None:
    """The share-th of the convolutions; of share -1 all that is none."""
    with open(os.path.join(os.environ["ULLAGE_CALIBRATE"], "config.json")) as file:
        cases = list(enumerate(json.load(file)["convolutions"]))
    until = float(sys.stdin.readline())
    begin = time.time()
    torch.backends.cudnn.benchmark = False
    recorder = of_torch(operators.DEVICE)
    if share < 0:
        products(recorder)
        other_operators(recorder, until)
    else:
        convolutions(recorder, cases[share::shares], torch.cuda.mem_get_info()[0] // (shares + 1), until)
    say(e="kernels", lost=recorder.lost, seconds=round(time.time() - begin, 1))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
