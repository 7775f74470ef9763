"""Measures what operators take from PyTorch's caching allocator besides their results: cuDNN's workspaces and layout copies,
reduction and sort buffers, attention's scratch, cuBLAS's workspace; and what a process takes outside the allocator.

usage: conv_workspace.py OUT.jsonl.gz [SECONDS [KIND...]]

Kinds of cases are the names of the functions below, as in attention; without any, all are measured but odd_cases and search_cases.

Needs one GPU, torch and torchvision. Every operator runs between two marks in the allocator's own history, so sizes and order are
exact. A line is [kind, parameters, events]; an event is the bytes requested, or -(n+1) where the n-th request of the operator was
freed, or 0 where the cache was given back to the driver, or "oom" where a request failed. Blocks that are live at the end are results. The file is useful wherever
it stops: the kinds of cases take turns by the shares of time given to them.
"""
from __future__ import annotations

import functools
import glob
import gzip
import itertools
import json
import lzma
import os
import random
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

MARK = 7  # bytes; no operator asks for as few
DTYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
VISION = ("vgg16", "vgg19", "resnet18", "resnet50", "resnet101", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet1_0", "convnext_tiny",
          "convnext_base", "regnet_x_400mf", "regnet_y_400mf", "efficientnet_b0", "densenet121", "vit_b_16", "swin_t",
          "alexnet", "squeezenet1_0", "googlenet", "inception_v3", "shufflenet_v2_x1_0", "resnext50_32x4d", "wide_resnet50_2", "efficientnet_v2_s", "regnet_y_8gf")
aten = torch.ops.aten
CUDA = torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")


class Recorder:
    """Runs cases between marks and writes what the history says of them."""

    def __init__(self, path):
        self.file = gzip.open(path, "wt", compresslevel=6)
        self.pending = []
        self.cases = 0
        # GiB after which the cache is given back: of several of these scripts on one GPU, each has a share.
        self.room = int(os.environ.get("ROOM", "60")) << 30
        self.restart()

    def restart(self):
        if CUDA.type == "cuda":
            torch.cuda.memory._record_memory_history("all", context=None, stacks="python", clear_history=True)

    def run(self, kind, params, fn):
        torch.empty(MARK, dtype=torch.uint8, device=CUDA)
        error = None
        try:
            kept = fn()
        except Exception as e:  # noqa: BLE001  (what a case can't do is a result)
            kept, error = None, f"{type(e).__name__}: {e}"[:160]
        torch.empty(MARK, dtype=torch.uint8, device=CUDA)
        self.pending.append((kind, params, error))
        if len(self.pending) >= 400:
            self.flush()
        return kept

    def flush(self):
        if not self.pending:
            return
        if CUDA.type != "cuda":
            windows = [[] for _ in self.pending]
        else:
            windows = read_windows(torch.cuda.memory._snapshot()["device_traces"][0])
        if len(windows) != len(self.pending):
            self.write(["lost", len(windows), len(self.pending)])
        else:
            for (kind, params, error), events in zip(self.pending, windows):
                self.write([kind, params, events] + ([error] if error else []))
        self.cases += len(self.pending)
        self.pending = []
        self.restart()
        self.file.flush()
        if CUDA.type == "cuda" and torch.cuda.memory_reserved() > self.room:
            torch.cuda.empty_cache()

    def write(self, row):
        self.file.write(json.dumps(row, separators=(",", ":")) + "\n")


def read_windows(trace):
    """Returns the events of each pair of marks, in order."""
    windows, inside, here = [], False, {}
    for e in trace:
        action, addr, size = e["action"], e.get("addr"), e["size"]  # a failed request has no address
        if action == "alloc" and size == MARK:
            inside = not inside
            if inside:
                windows.append([])
                here, count = {}, 0
        elif not inside:
            continue
        elif action == "alloc":
            windows[-1].append(size)
            here[addr] = count
            count += 1
        elif action == "free_completed" and addr in here:
            windows[-1].append(-(here.pop(addr) + 1))
        elif action == "oom":
            windows[-1].append("oom")
        elif action == "segment_free" and (not windows[-1] or windows[-1][-1] != 0):
            windows[-1].append(0)
    return windows


def empty(*shape, dtype=torch.float32, nhwc=False):
    t = torch.empty(shape, dtype=dtype, device=CUDA)
    return t.contiguous(memory_format=torch.channels_last) if nhwc and len(shape) == 4 else t


# ---- convolutions


def conv_case(rec, mode, layout, n, c, h, w, k, r, s, stride, pad, dilation, groups, what=("f", "d", "w")):
    """One layer: forward, gradient of the input, gradient of the weight."""
    dtype = DTYPES[mode]
    torch.backends.cudnn.allow_tf32 = mode != "f32"
    nhwc = layout == "nhwc"
    p = [mode, layout, n, c, h, w, k, r, s, stride, pad, dilation, groups]
    pads = [pad if q > 1 or r == s else 0 for q in (r, s)]  # a kernel of 1 in one direction has padding in the other
    args = ([stride, stride], pads, [dilation, dilation], False, [0, 0], groups)
    try:
        x, wt = empty(n, c, h, w, dtype=dtype, nhwc=nhwc), empty(k, c // groups, r, s, dtype=dtype, nhwc=nhwc)
        y = None
        if "f" in what:
            y = rec.run("conv", ["f", *p], lambda: aten.convolution(x, wt, None, *args))
        ho, wo = ((i + 2 * b - dilation * (q - 1) - 1) // stride + 1 for i, q, b in ((h, r, pads[0]), (w, s, pads[1])))
        y = empty(n, k, ho, wo, dtype=dtype, nhwc=nhwc) if y is None else y
        for d, mask in (("d", [True, False, False]), ("w", [False, True, False]), ("b", [True, True, True])):
            if d in what:
                rec.run("conv", [d, *p], lambda m=mask: aten.convolution_backward(y, x, wt, [k] if m[2] else None, *args, m))
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()


def affordable(n, c, h, w, k, r, s, stride, groups):
    """Whether a case takes less than a moment: under 6 GiB of fp32 tensors and 2 TFLOP."""
    ho, wo = max(1, h // stride), max(1, w // stride)
    return 4 * n * (c * h * w + k * ho * wo) < 6 << 30 and 2 * n * k * ho * wo * (c // groups) * r * s < 2e12 and n * max(c * h * w, k * ho * wo) < 1 << 31


@functools.lru_cache(None)
def layers(image, names=VISION):
    """Returns the distinct convolutions of torchvision's models at a size of image."""
    import torchvision

    seen = {}
    for name in names:
        if name == "vit_b_16" and image != 224 or name == "inception_v3" and image < 80:
            continue
        kwargs = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        make = getattr(torchvision.models, name)
        try:
            with torch.device("meta"):
                model = make(**kwargs).eval()
        except NotImplementedError:  # RegNet reads numbers while it is built
            model = make(**kwargs).to("meta").eval()

        def note(m, args):
            x = args[0]
            seen[(x.shape[1], x.shape[2], x.shape[3], m.out_channels, *m.kernel_size, m.stride[0], m.padding[0], m.dilation[0], m.groups)] = None

        for m in model.modules():
            if isinstance(m, torch.nn.Conv2d):
                m.register_forward_pre_hook(note)
        try:
            model(torch.empty(1, 3, image, image, device="meta"))
        except Exception:  # noqa: BLE001  (an image too small for the model: the layers up to there count)
            pass
    return [list(k) for k in seen if k[4] == k[5]]  # paddings of oblong kernels differ by axis


def layer_cases(rec, rng, image, batches, modes, layout="nchw"):
    todo = [(mode, n, layer) for mode, n, layer in itertools.product(modes, batches, layers(image))]
    rng.shuffle(todo)
    for mode, n, layer in todo:
        c, h, w, k, r, s, stride, pad, dil, groups = layer
        if affordable(n, c, h, w, k, r, s, stride, groups):
            conv_case(rec, mode, layout, n, *layer)
            yield


def autocast_cases(rec, rng):
    """Layers as autocast runs them at the usual size of images."""
    yield from layer_cases(rec, rng, 224, (64,), ("bf16",))
    yield from layer_cases(rec, rng, 224, (32, 128, 256), ("bf16", "f16"))


def channels_last_cases(rec, rng):
    """Layers as they run with channels innermost: ConvNeXt's always do, others where the program asks for it."""
    mixed = [(86, jobs, ("tf32",)) for jobs in ((100, 200, 300, 400, 500),)] + [(224, (64,), ("bf16", "f16", "tf32")), (224, (1, 8, 16, 32, 128, 256), ("bf16", "tf32"))]
    for names in (("convnext_tiny", "convnext_base"), VISION):
        todo = [(mode, n, layer) for image, batches, modes in mixed for mode, n, layer in itertools.product(modes, batches, layers(image, names))]
        rng.shuffle(todo)
        for mode, n, layer in todo:
            c, h, w, k, r, s, stride, _, _, groups = layer
            if affordable(n, c, h, w, k, r, s, stride, groups):
                conv_case(rec, mode, "nhwc", n, *layer)
                yield


def measured_already():
    """Returns the layers that are in the files beside this one, with their batches."""
    have = set()
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "operators-h200*.jsonl.xz")):
        with lzma.open(path, "rt") as f:
            have.update(tuple(json.loads(line)[1][1:]) for line in f if line.startswith('["conv",'))
    return have


def other_models(rec, rng):
    """The layers of the models in model_layers.jsonl.xz: first as they train at 86 by 86 and under autocast at 224, most used models first."""
    with lzma.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "model_layers.jsonl.xz"), "rt") as f:
        models = [json.loads(line) for line in f]
    sized = {(name, image): found for name, image, found in models}
    fixed = [m for m in models if m[1] == 224 and (m[0], 86) not in sized]
    embeddings = [m for m in fixed if len(m[2]) <= 3]  # of vision transformers: a few layers, in all batches
    rest = [m for m in fixed if len(m[2]) > 3]
    cnns = [m for m in models if m[1] == 86]
    most = [part for name, image, found in cnns for part in ((found, "tf32", (100, 200, 300, 400, 500)), (sized.get((name, 224), []), "bf16", (64,)))]
    plan = [(m[2], mode, batches) for m in embeddings for mode, batches in (("tf32", (20, 40, 60, 64, 80, 100)), ("bf16", (64,)))] + most[:120]
    plan += [(m[2], mode, batches) for m in rest for mode, batches in (("bf16", (64,)), ("tf32", (20, 40, 60, 80, 100)))] + most[120:]
    plan += [(found, "tf32", (64,)) for name, image, found in models if image == 224] + [(m[2], "tf32", (20, 40, 60, 64, 80)) for m in cnns]
    have = measured_already()
    for found, mode, batches in plan:
        for last, *layer in found:
            for n in batches:
                case = (mode, "nhwc" if last else "nchw", n, *layer)
                c, h, w, k, r, s, stride, _, _, groups = layer
                if case not in have and affordable(n, c, h, w, k, r, s, stride, groups):
                    have.add(case)
                    conv_case(rec, *case)
                    yield


CHANNELS = (1, 3, 4, 8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 120, 128, 144, 160, 192, 224, 240, 256, 320, 384, 400, 480, 512, 576, 640, 672, 768, 896, 960, 1024, 1152, 1280, 1536, 2048)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 16, 19, 20, 22, 24, 26, 28, 32, 35, 38, 40, 43, 48, 54, 56, 64, 72, 75, 84, 86, 96, 112, 128, 147, 160, 192, 224, 256, 320, 384, 512)
BATCHES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 50, 64, 80, 96, 100, 128, 150, 160, 200, 256, 300, 320, 350, 400, 450, 500, 512, 600, 700)


def random_cases(rec, rng, modes, layouts):
    while True:
        n, c, k, h = (rng.choice(v) for v in (BATCHES, CHANNELS, CHANNELS, SIZES))
        w = h if rng.random() < 0.85 else rng.choice(SIZES)
        r = rng.choice((1, 1, 1, 2, 3, 3, 3, 3, 4, 5, 5, 7, 7, 11))
        stride = rng.choice((1, 1, 1, 2, 2, 4)) if r < 8 else rng.choice((1, 2, 4, 16))
        dil = rng.choice((1,) * 9 + (2,))
        pad = rng.choice((dil * (r - 1) // 2,) * 4 + (0,))
        groups = 1
        if rng.random() < 0.3:
            groups = k = c
            if rng.random() < 0.5:
                groups = rng.choice([g for g in (2, 4, 8, 16, 32, 64) if c % g == 0] or [1])
        if min(h, w) + 2 * pad < dil * (r - 1) + 1 or not affordable(n, c, h, w, k, r, r, stride, groups):
            continue
        conv_case(rec, rng.choice(modes), rng.choice(layouts), n, c, h, w, k, r, r, stride, pad, dil, groups)
        yield


def scaling_cases(rec, rng):
    """Series in which one thing varies, so that a rule shows."""
    bases = [(32, 64, 56, 64, 3, 1), (32, 64, 56, 256, 1, 1), (32, 256, 28, 512, 1, 2), (16, 512, 14, 512, 3, 1), (64, 128, 28, 128, 3, 2), (8, 3, 224, 64, 7, 2),
             (300, 64, 43, 128, 3, 1), (500, 512, 5, 512, 3, 1), (64, 3, 224, 768, 16, 16), (100, 96, 21, 192, 2, 2), (64, 48, 24, 120, 5, 2)]
    for mode, (n, c, h, k, r, stride) in itertools.product(("tf32", "bf16", "f16", "f32"), bases):
        series = [(v, c, h, k) for v in (1, 2, 3, 7, 8, 16, 31, 64, 100, 128, 255, 256, 300, 400, 512)] + [(n, v, h, k) for v in (1, 2, 3, 4, 5, 8, 12, 17, 32, 48, 63, 64, 100, 128, 256, 512)]
        series += [(n, c, v, k) for v in (4, 7, 8, 13, 14, 20, 28, 31, 43, 56, 64, 86)] + [(n, c, h, v) for v in (1, 3, 4, 8, 10, 17, 32, 63, 64, 96, 128, 256, 512)]
        rng.shuffle(series)
        for n2, c2, h2, k2 in series:
            if affordable(n2, c2, h2, h2, k2, r, r, stride, 1) and h2 >= r:
                conv_case(rec, mode, "nchw", n2, c2, h2, h2, k2, r, r, stride, (r - 1) // 2 if r < 16 else 0, 1, 1)
                yield


def combined_cases(rec, rng):
    """All three gradients in one call, for their order; and the search of cudnn.benchmark."""
    some = list(layers(86, ("vgg16", "resnet50", "mobilenet_v2", "convnext_tiny", "regnet_x_400mf")))
    rng.shuffle(some)
    for i, layer in enumerate(some):
        if i % 2:
            torch.backends.cudnn.benchmark = True
            rec.flush()
            rec.write(["benchmark", [], []])
        conv_case(rec, rng.choice(("tf32", "bf16")), "nchw", rng.choice((16, 100, 300)), *layer, what=("f", "b"))
        if i % 2:
            rec.flush()
            rec.write(["benchmark_off", [], []])
            torch.backends.cudnn.benchmark = False
        yield


def other_conv_cases(rec, rng):
    """One and three dimensions, and transposed convolutions."""
    while True:
        dims = rng.choice((1, 2, 2, 3))
        mode = rng.choice(("tf32", "bf16", "f16"))
        transposed = dims == 2 or rng.random() < 0.3
        n, c, k = rng.choice((1, 2, 4, 8, 16, 32, 64, 100)), rng.choice(CHANNELS), rng.choice(CHANNELS)
        size = rng.choice({1: (50, 128, 500, 1024, 3000), 2: (8, 14, 16, 28, 32, 56, 64), 3: (4, 8, 16, 28, 32)}[dims])
        r, stride = rng.choice((1, 2, 3, 4, 5, 7)), rng.choice((1, 1, 2))
        pad = (r - 1) // 2
        if n * max(c, k) * (size * stride) ** dims > 1 << 28 or n * c * k * (size * stride * r) ** dims > 1e12:
            continue
        dtype, torch.backends.cudnn.allow_tf32 = DTYPES[mode], True
        x = torch.empty(n, c, *[size] * dims, dtype=dtype, device=CUDA)
        w = torch.empty(*((c, k) if transposed else (k, c)), *[r] * dims, dtype=dtype, device=CUDA)
        args = ([stride] * dims, [pad] * dims, [1] * dims, transposed, [0] * dims, 1)
        p = [mode, dims, int(transposed), n, c, size, k, r, stride, pad]
        y = rec.run("convnd", ["f", *p], lambda: aten.convolution(x, w, None, *args))
        if y is not None:
            for d, mask in (("d", [True, False, False]), ("w", [False, True, False])):
                rec.run("convnd", [d, *p], lambda m=mask: aten.convolution_backward(y, x, w, None, *args, m))
        yield


# ---- convolutions unlike those of common models


ODD_BATCHES = (1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 10, 12, 16, 16, 24, 32, 48, 64, 100, 128)
ODD_MODES = ("tf32",) * 8 + ("bf16",) * 5 + ("f16",) * 4 + ("f32",) * 3


def any_number(rng, low, high):
    """A whole number, on average in the middle of low and high on a scale of logarithms."""
    return round(low * (high / low) ** rng.random())


def any_channels(rng, high=512):
    """As people write them: round ones, round ones plus or minus one, and any."""
    how = rng.random()
    if how < 0.45:
        return any_number(rng, 1, high)
    if how < 0.6:
        return max(1, 2 ** rng.randint(2, 9) + rng.choice((-1, 1, 2, 3)))
    return rng.choice([c for c in CHANNELS if c <= high])


def odd_kernel(rng, dims):
    """Returns kernel, stride, padding and dilation, a list of each direction."""
    if rng.random() < 0.75:
        kernel = [rng.choice((1, 2, 3, 3, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10, 11) if dims < 3 else (1, 2, 3, 3, 3, 3, 4, 5, 7))] * dims
    else:
        kernel = [rng.choice((1, 1, 2, 3, 3, 4, 5, 7, 9, 15, 31) if dims < 3 else (1, 1, 3, 3, 5, 7)) for _ in range(dims)]
    if dims == 1 and rng.random() < 0.3:
        kernel = [rng.choice((10, 15, 16, 25, 31, 41, 64, 80, 128, 251))]
    big = max(kernel)
    dilation = [1] * dims
    if big > 1 and rng.random() < 0.5:
        dilation = [rng.choice((2, 2, 2, 3, 3, 4, 4, 5, 6, 8) + ((12, 16, 18, 24, 36, 64, 128) if big == 3 and dims < 3 else ()))] * dims
    stride = [rng.choice((1, 1, 1, 1, 2, 2, 3, 4)) if max(dilation) == 1 or rng.random() < 0.2 else 1] * dims
    if rng.random() < 0.1:
        stride = [rng.choice((1, 2)) for _ in range(dims)]
    how = rng.random()
    padding = [d * (k - 1) // 2 if how < 0.75 else 0 if how < 0.9 else min(1, k - 1) for k, d in zip(kernel, dilation)]
    return kernel, stride, padding, dilation


def odd_shape(rng):
    """Returns a convolution of one, two or three dimensions: sizes of input and weight, stride, padding, dilation, groups."""
    dims = rng.choice((1, 2, 2, 2, 2, 2, 3))
    kernel, stride, padding, dilation = odd_kernel(rng, dims)
    low, high = {1: (16, 70000), 2: (3, 600), 3: (3, 128)}[dims]
    size = [any_number(rng, low, high)] * dims
    if rng.random() < 0.25:
        size = [any_number(rng, low, high) for _ in range(dims)]
    c, k = any_channels(rng), any_channels(rng)
    groups = 1
    if rng.random() < 0.2:
        groups = rng.choice([g for g in range(2, c + 1) if c % g == 0] or [1])
        groups = c if rng.random() < 0.4 else groups
        k = max(1, k // groups) * groups if groups < c else c * rng.choice((1, 1, 1, 2, 3))
    return [rng.choice(ODD_BATCHES), c, *size], [k, c // groups, *kernel], stride, padding, dilation, groups


def run_odd(rec, kind, mode, layout, x_shape, w_shape, stride, padding, dilation, groups):
    """The three computations of a layer; False where its kernel is larger than its input, or it takes more than a moment."""
    dims = len(x_shape) - 2
    out = [(i + 2 * p - d * (k - 1) - 1) // s + 1 for i, k, s, p, d in zip(x_shape[2:], w_shape[2:], stride, padding, dilation)]
    if min(i + 2 * p - d * (k - 1) for i, k, p, d in zip(x_shape[2:], w_shape[2:], padding, dilation)) < 1:
        return False
    n, count = x_shape[0], lambda sizes: functools.reduce(lambda a, b: a * b, sizes, 1)
    y_shape = [n, w_shape[0], *out]
    if 4 * (count(x_shape) + count(y_shape) + count(w_shape)) > 1 << 30 or 2 * count(y_shape) * count(w_shape[1:]) > 2e11:
        return False
    dtype, torch.backends.cudnn.allow_tf32 = DTYPES[mode], mode != "f32"
    form = {4: torch.channels_last, 5: torch.channels_last_3d}.get(dims + 2) if layout == "nhwc" else None

    def tensor(shape):
        t = torch.empty(shape, dtype=dtype, device=CUDA)
        return t.contiguous(memory_format=form) if form is not None else t

    x, w, y = tensor(x_shape), tensor(w_shape), tensor(y_shape)
    args = (stride, padding, dilation, False, [0] * dims, groups)
    p = [mode, layout, x_shape, w_shape, stride, padding, dilation, groups]
    rec.run(kind, ["f", *p], lambda: aten.convolution(x, w, None, *args))
    for d, mask in (("d", [True, False, False]), ("w", [False, True, False])):
        rec.run(kind, [d, *p], lambda m=mask: aten.convolution_backward(y, x, w, None, *args, m))
    return True


def odd_cases(rec, rng):
    """Odd channels, dilations, large, even and oblong kernels, any size of image; one to three dimensions."""
    while True:
        shape = odd_shape(rng)
        layout = "nhwc" if len(shape[0]) > 3 and rng.random() < 0.3 else "nchw"
        try:
            ran = run_odd(rec, "odd", rng.choice(ODD_MODES), layout, *shape)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            continue
        if ran:
            yield


def search_cases(rec, rng):
    """What cudnn.benchmark tries at the first call: layers of common models, and odd ones."""
    torch.backends.cudnn.benchmark = True
    common = [(n, layer) for n, layer in itertools.product((1, 8, 32, 64, 128), layers(224, ("resnet50", "vgg16", "mobilenet_v2", "densenet121", "convnext_tiny", "regnet_x_400mf")))]
    while True:
        if rng.random() < 0.5:
            n, (c, h, w, k, r, s, stride, pad, dilation, groups) = rng.choice(common)
            shape = [n, c, h, w], [k, c // groups, r, s], [stride] * 2, [pad] * 2, [dilation] * 2, groups
        else:
            shape = odd_shape(rng)
        layout = "nhwc" if len(shape[0]) > 3 and rng.random() < 0.3 else "nchw"
        try:
            ran = run_odd(rec, "search", rng.choice(ODD_MODES), layout, *shape)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            continue
        if ran:
            rec.flush()  # a search may take a second
            yield


# ---- other operators


def reductions(rec, rng):
    shapes2 = [(m, n) for m in (1, 16, 100, 512, 2048, 3840, 8192, 15360, 65536, 262144) for n in (1, 10, 64, 512, 768, 1000, 3072, 4096, 30522, 50257)]
    for (m, n), dt in itertools.product(shapes2, ("f32", "bf16")):
        if m * n > 1 << 29:
            continue
        x = empty(m, n, dtype=DTYPES[dt])
        for dim in ([0], [1], []):
            rec.run("sum", [dt, [m, n], dim], lambda: aten.sum.dim_IntList(x, dim or None, bool(dim)))
        rec.run("mean", [dt, [m, n], []], lambda: aten.mean(x))
        rec.run("amax", [dt, [m, n], [0]], lambda: aten.amax(x, [0]))
        rec.run("norm", [dt, [m, n], []], lambda: aten.linalg_vector_norm(x))
        yield
    for n, c, h, dt in itertools.product((1, 16, 64, 300, 500), (3, 64, 256, 512), (5, 14, 43, 86), ("f32", "bf16")):
        x = empty(n, c, h, h, dtype=DTYPES[dt])
        for dim in ([0, 2, 3], [2, 3], [0], [1], [0, 1, 2, 3]):
            rec.run("sum", [dt, [n, c, h, h], dim], lambda: aten.sum.dim_IntList(x, dim, True))
        if dt == "f32":
            rec.run("mean", [dt, [n, c, h, h], [2, 3]], lambda: aten.mean.dim(x, [2, 3], True))
            rec.run("var", [dt, [n, c, h, h], [0, 2, 3]], lambda: aten.var.correction(x, [0, 2, 3]))
        yield
    for b, t, c in itertools.product((1, 8, 32, 100), (16, 128, 512, 1024), (64, 768, 1024, 4096)):
        x = empty(b, t, c)
        for dim in ([0, 1], [0], [1], [2], []):
            rec.run("sum", ["f32", [b, t, c], dim], lambda: aten.sum.dim_IntList(x, dim or None, bool(dim)))
        rec.run("argmax", ["f32", [b, t, c], [2]], lambda: aten.argmax(x, -1))
        rec.run("all", ["f32", [b, t, c], []], lambda: aten.isnan(x).all())
        yield


def sorts(rec, rng):
    for n in (1, 100, 1000, 3840, 8192, 20000, 65536, 262144, 1 << 20, 1 << 22, 1 << 24):
        ids = torch.randint(0, 30000, (n,), device=CUDA)
        x = torch.rand(n, device=CUDA)
        for dt, v in (("i64", ids), ("f32", x), ("f16", x.half()), ("i32", ids.int())):
            rec.run("sort", [dt, [n]], lambda: aten.sort.stable(v, stable=True))
            rec.run("sort_unstable", [dt, [n]], lambda: aten.sort(v))
            rec.run("unique", [dt, [n]], lambda: aten._unique2(v, True, True, True))
            rec.run("cumsum", [dt, [n]], lambda: aten.cumsum(v, 0))
        rec.run("topk", ["f32", [n], min(n, 50)], lambda: aten.topk(x, min(n, 50)))
        rec.run("nonzero", ["bool", [n]], lambda: aten.nonzero(x > 0.5))
        rec.run("masked_select", ["f32", [n]], lambda: aten.masked_select(x, x > 0.5))
        rec.run("randperm", ["i64", [n]], lambda: torch.randperm(n, device=CUDA))
        rec.run("multinomial", ["f32", [n], 1], lambda: aten.multinomial(x, 1) if n < 1 << 24 else None)
        rec.run("bincount", ["i64", [n]], lambda: aten.bincount(ids))
        yield
    for b, n in itertools.product((1, 8, 64, 1024, 3840), (32, 128, 1000, 1024, 4096, 50257)):
        x = torch.rand(b, n, device=CUDA)
        rec.run("sort", ["f32", [b, n]], lambda: aten.sort.stable(x, stable=False, dim=-1))
        rec.run("topk", ["f32", [b, n], 10], lambda: aten.topk(x, 10))
        rec.run("cumsum", ["f32", [b, n]], lambda: aten.cumsum(x, -1))
        rec.run("multinomial", ["f32", [b, n], 1], lambda: aten.multinomial(x, 1))
        rec.run("logsumexp", ["f32", [b, n]], lambda: aten.logsumexp(x, [-1]))
        yield


def embeddings(rec, rng):
    for n, vocab, d, dt in itertools.product((16, 128, 1024, 3072, 3073, 3840, 7680, 8192, 20480, 65536, 1 << 20), (2, 512, 30522, 50257, 128256), (64, 512, 768, 2048), ("f32", "bf16")):
        if n * d > 1 << 28 or vocab * d > 1 << 28:
            continue
        ids = torch.randint(0, vocab, (n,), device=CUDA)
        g = empty(n, d, dtype=DTYPES[dt])
        rec.run("embedding_dense_backward", [dt, n, vocab, d], lambda: aten.embedding_dense_backward(g, ids, vocab, -1, False))
        if dt == "f32":
            w = empty(vocab, d)
            rec.run("index_put", [dt, n, vocab, d, 1], lambda: aten.index_put_(w, [ids], g, True))
            rec.run("index_put", [dt, n, vocab, d, 0], lambda: aten.index_put_(w, [ids], g, False))
            rec.run("index_add", [dt, n, vocab, d], lambda: aten.index_add_(w, 0, ids, g))
            rec.run("index", [dt, n, vocab, d], lambda: aten.index.Tensor(w, [ids]))
            rec.run("scatter_add", [dt, n, vocab, d], lambda: aten.scatter_add_(w, 0, ids[:, None].expand(n, d), g))
            rec.run("embedding_bag", [dt, n, vocab, d], lambda: aten._embedding_bag(w, ids, torch.arange(0, n, 4, device=CUDA)))
        yield


def norms(rec, rng):
    for m, n, dt in itertools.product((1, 32, 128, 1024, 3840, 8192, 15360, 65536, 262144), (64, 96, 192, 384, 768, 1000, 1024, 2048, 4096, 8192), ("f32", "bf16", "f16")):
        if m * n > 1 << 28:
            continue
        x, g = empty(m, n, dtype=DTYPES[dt]), empty(m, n, dtype=DTYPES[dt])
        w = empty(n, dtype=DTYPES[dt])
        out = rec.run("native_layer_norm", [dt, m, n], lambda: aten.native_layer_norm(x, [n], w, w, 1e-5))
        if out is not None:
            rec.run("native_layer_norm_backward", [dt, m, n], lambda: aten.native_layer_norm_backward(g, x, [n], out[1], out[2], w, w, [True, True, True]))
        if hasattr(aten, "_fused_rms_norm"):
            out = rec.run("_fused_rms_norm", [dt, m, n], lambda: aten._fused_rms_norm(x, [n], w, 1e-5))
            if out is not None and hasattr(aten, "_fused_rms_norm_backward"):
                rec.run("_fused_rms_norm_backward", [dt, m, n], lambda: aten._fused_rms_norm_backward(g, x, [n], out[1], w, [True, True]))
        rec.run("softmax", [dt, m, n], lambda: aten._softmax(x, -1, False))
        yield
    for n, c, h, dt, nhwc in itertools.product((1, 8, 64, 300), (16, 64, 256, 512), (7, 28, 56), ("f32", "bf16"), (0, 1)):
        x, g = empty(n, c, h, h, dtype=DTYPES[dt], nhwc=nhwc), empty(n, c, h, h, dtype=DTYPES[dt], nhwc=nhwc)
        w, rm, rv = torch.ones(c, device=CUDA), torch.ones(c, device=CUDA), torch.ones(c, device=CUDA)
        wd = w.to(DTYPES[dt])
        p = [dt, n, c, h, nhwc]
        out = rec.run("cudnn_batch_norm", p, lambda: aten.cudnn_batch_norm(x, w, w, rm, rv, True, 0.1, 1e-5))
        if out is not None:
            rec.run("cudnn_batch_norm_backward", p, lambda: aten.cudnn_batch_norm_backward(x, g, w, rm, rv, out[1], out[2], 1e-5, out[3]))
        out = rec.run("native_batch_norm", p, lambda: aten.native_batch_norm(x, w, w, rm, rv, True, 0.1, 1e-5))
        if out is not None:
            rec.run("native_batch_norm_backward", p, lambda: aten.native_batch_norm_backward(g, x, w, rm, rv, out[1], out[2], True, 1e-5, [True, True, True]))
        out = rec.run("native_group_norm", p, lambda: aten.native_group_norm(x, wd, wd, n, c, h * h, 8, 1e-5))
        if out is not None:
            rec.run("native_group_norm_backward", p, lambda: aten.native_group_norm_backward(g, x, out[1], out[2], wd, n, c, h * h, 8, [True, True, True]))
        rec.run("max_pool2d_with_indices", p, lambda: aten.max_pool2d_with_indices(x, [3, 3], [2, 2], [1, 1]))
        rec.run("avg_pool2d", p, lambda: aten.avg_pool2d(x, [2, 2]))
        rec.run("upsample_bilinear2d", p, lambda: aten.upsample_bilinear2d(x, [2 * h, 2 * h], False))
        rec.run("adaptive_avg_pool2d_backward", p, lambda: aten._adaptive_avg_pool2d_backward(empty(n, c, 7, 7, dtype=DTYPES[dt]), x))
        yield


def losses(rec, rng):
    for m, n, dt in itertools.product((64, 2560, 3840, 8192), (10, 1000, 30522, 50257, 128256), ("f32", "bf16")):
        if m * n > 1 << 29:
            continue
        x = empty(m, n, dtype=DTYPES[dt])
        t = torch.randint(0, n, (m,), device=CUDA)
        lp = rec.run("log_softmax", [dt, m, n], lambda: aten._log_softmax(x, -1, False))
        loss = rec.run("nll_loss_forward", [dt, m, n], lambda: aten.nll_loss_forward(lp, t, None, 1, -100))
        if loss is not None:
            g = rec.run("nll_loss_backward", [dt, m, n], lambda: aten.nll_loss_backward(loss[0], lp, t, None, 1, -100, loss[1]))
            rec.run("log_softmax_backward", [dt, m, n], lambda: aten._log_softmax_backward_data(g, lp, -1, x.dtype))
        rec.run("dropout", [dt, m, n], lambda: aten.native_dropout(x, 0.1, True))
        rec.run("gelu", [dt, m, n], lambda: aten.gelu(x))
        yield


def products(rec, rng):
    """Matrix products from cleared cuBLAS workspaces: each shows what the product takes for itself."""
    torch.backends.cuda.matmul.allow_tf32 = False
    for m, n, k, dt in itertools.product((1, 64, 500, 3840, 15360), (1, 64, 768, 3072, 50257), (16, 768, 4096, 65536), ("f32", "bf16", "f16")):
        if max(m * n, n * k, m * k) > 1 << 28 or m * n * k > 1 << 40:
            continue
        a, b, bias = empty(m, k, dtype=DTYPES[dt]), empty(k, n, dtype=DTYPES[dt]), empty(n, dtype=DTYPES[dt])
        bt = empty(n, k, dtype=DTYPES[dt])
        for kind, fn in (("mm", lambda: aten.mm(a, b)), ("addmm", lambda: aten.addmm(bias, a, b)), ("linear", lambda: aten.linear(a, bt, bias)), ("mm_t", lambda: aten.mm(a, bt.t()))):
            torch._C._cuda_clearCublasWorkspaces()
            rec.run(kind, [dt, m, n, k, "cleared"], fn)
            rec.run(kind, [dt, m, n, k], fn)
        yield
    for b, m, n, k, dt in itertools.product((1, 96, 720), (1, 128, 512), (64, 128, 512), (64, 128, 512), ("f32", "bf16")):
        x, y = empty(b, m, k, dtype=DTYPES[dt]), empty(b, k, n, dtype=DTYPES[dt])
        torch._C._cuda_clearCublasWorkspaces()
        rec.run("bmm", [dt, b, m, n, k, "cleared"], lambda: aten.bmm(x, y))
        rec.run("bmm", [dt, b, m, n, k], lambda: aten.bmm(x, y))
        rec.run("bmm_t", [dt, b, m, n, k], lambda: torch.bmm(x.transpose(1, 2).contiguous().transpose(1, 2), y))
        yield
    for n in (64, 512, 1024):
        s = torch.eye(n, device=CUDA)
        for kind, fn in (("cholesky", lambda: torch.linalg.cholesky(s)), ("solve", lambda: torch.linalg.solve(s, s)), ("qr", lambda: torch.linalg.qr(s)), ("eigh", lambda: torch.linalg.eigh(s)),
                         ("svd", lambda: torch.linalg.svd(s)), ("cdist", lambda: torch.cdist(s, s)), ("fft", lambda: torch.fft.rfft2(s)), ("inv", lambda: torch.linalg.inv(s))):
            rec.run(kind, ["f32", n], fn)
        yield


def attention(rec, rng):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    names = {"flash": SDPBackend.FLASH_ATTENTION, "efficient": SDPBackend.EFFICIENT_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH, "auto": None}
    grid = list(itertools.product(("auto", "flash", "efficient", "cudnn", "math"), ("f32", "bf16", "f16"), (1, 8, 30), (1, 8, 12, 32), (16, 128, 197, 512, 1024, 2048), (32, 64, 80, 96, 128, 256), (0, 1, 2), (0, 1)))
    rng.shuffle(grid)
    for backend, dt, b, a, s, d, form, gqa in grid:
        if b * a * s * (s if backend == "math" else d) > 1 << 28 or gqa and (a < 8 or backend in ("efficient", "math")) or form == 2 and backend in ("flash", "cudnn"):
            continue
        q = torch.empty(b, a, s, d, dtype=DTYPES[dt], device=CUDA, requires_grad=True)
        kv = [torch.empty(b, a // 4 if gqa else a, s, d, dtype=DTYPES[dt], device=CUDA, requires_grad=True) for _ in range(2)]
        mask = torch.zeros(b, 1, s, s, dtype=DTYPES[dt], device=CUDA) if form == 2 else None
        p = [backend, dt, b, a, s, d, ["full", "causal", "mask"][form], gqa]

        def forward():
            with sdpa_kernel([names[backend]]) if names[backend] else torch.enable_grad():
                return F.scaled_dot_product_attention(q, *kv, attn_mask=mask, is_causal=form == 1, enable_gqa=bool(gqa))

        out = rec.run("sdpa", p, forward)
        if out is not None:
            g = torch.empty_like(out)
            rec.run("sdpa_backward", [*p, out.grad_fn.name()], lambda: torch.autograd.grad(out, (q, *kv), g))
        yield


def recurrent(rec, rng):
    for cls, t, b, c, h, n, bi, dt in itertools.product(("LSTM", "GRU", "RNN"), (16, 128), (8, 64), (64, 256), (64, 512), (1, 2), (False, True), ("f32", "f16")):
        m = getattr(torch.nn, cls)(c, h, n, bidirectional=bi).to(CUDA, DTYPES[dt])
        x = torch.empty(t, b, c, dtype=DTYPES[dt], device=CUDA, requires_grad=True)
        p = [cls, dt, t, b, c, h, n, int(bi)]
        y = rec.run("rnn", p, lambda: m(x)[0])
        if y is not None:
            rec.run("rnn_backward", p, lambda: torch.autograd.grad(y, (x, *m.parameters()), torch.empty_like(y)))
        yield


def optimizers(rec, rng):
    shapes = [(768, 768), (768,), (3072, 768), (30522, 768), (64, 3, 7, 7), (1,)]
    for name, how in itertools.product(("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adafactor", "NAdam"), ("", "foreach", "fused", "for")):
        ps = [torch.nn.Parameter(torch.empty(s, device=CUDA)) for s in shapes * 3]
        for q in ps:
            q.grad = torch.empty_like(q)
        kwargs = {"": {}, "foreach": {"foreach": True}, "fused": {"fused": True}, "for": {"foreach": False}}[how]
        if name == "SGD":
            kwargs["momentum"] = 0.9
        try:
            o = getattr(torch.optim, name)(ps, lr=1e-3, **kwargs)
        except Exception:  # noqa: BLE001  (no such form of this optimizer)
            continue
        rec.run("optimizer", [name, how, 1], o.step)
        rec.run("optimizer", [name, how, 2], o.step)
        rec.run("clip_grad_norm", [name], lambda: torch.nn.utils.clip_grad_norm_(ps, 1.0))
        yield
    scaler = torch.amp.GradScaler("cuda")
    rec.run("scaler", ["scale"], lambda: scaler.scale(torch.ones((), device=CUDA)))
    rec.run("scaler", ["unscale"], lambda: scaler.unscale_(o))


# ---- outside the allocator

CONTEXT = r"""
import os, sys, json, subprocess, torch
def used():
    try:
        import pynvml
        pynvml.nvmlInit(); h = pynvml.nvmlDeviceGetHandleByIndex(0)
        mine = [p.usedGpuMemory for p in pynvml.nvmlDeviceGetComputeRunningProcesses(h) if p.pid == os.getpid()]
        return (mine[0] if mine else None, pynvml.nvmlDeviceGetMemoryInfo(h).used)
    except Exception as e:
        out = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
        return (None, int(out.split()[0]) << 20)
rows = []
def note(what):
    torch.cuda.synchronize()
    rows.append([what, *used(), torch.cuda.memory_reserved()])
rows.append(["before", *used(), 0])
torch.zeros(1, device="cuda"); note("init")
for what in sys.argv[1:]:
    a = torch.ones(64, 64, device="cuda")
    if what == "elementwise": (a * 2 + 1).relu().sum().item()
    if what == "cublas": a @ a
    if what == "cublas_bf16": torch.nn.functional.linear(a.bfloat16(), a.bfloat16(), a[0].bfloat16())
    if what == "cudnn":
        x = torch.ones(2, 64, 32, 32, device="cuda", requires_grad=True); w = torch.ones(64, 64, 3, 3, device="cuda", requires_grad=True)
        torch.nn.functional.conv2d(x, w).sum().backward()
    if what == "attention":
        q = torch.ones(1, 8, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
    if what == "nccl":
        import torch.distributed as dist
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571", RANK="0", WORLD_SIZE="1")
        dist.init_process_group("nccl", device_id=torch.device("cuda:0")); dist.all_reduce(a)
    note(what)
p = torch.cuda.get_device_properties(0)
print(json.dumps({"steps": rows, "name": p.name, "total": p.total_memory, "sms": p.multi_processor_count, "capability": [p.major, p.minor], "info": torch.cuda.mem_get_info(0),
  "torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}))
"""


def context(rec):
    for steps in (["elementwise", "cublas", "cublas_bf16", "cudnn", "attention", "nccl"], ["cudnn", "cublas"], ["nccl"]):
        p = subprocess.run([sys.executable, "-c", CONTEXT, *steps], capture_output=True, text=True, timeout=90, env=dict(os.environ))
        rec.write(["context", steps, json.loads(p.stdout) if p.returncode == 0 else p.stderr[-300:]])


def main():
    out, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 270
    end = time.monotonic() + seconds
    rng = random.Random(int(os.environ.get("SEED", "20")))
    rec = Recorder(out)
    if CUDA.type == "cuda" and not sys.argv[3:]:
        context(rec)
    jobs = (100, 200, 300, 400, 500)
    # (share of time, what)
    kinds = [(30, layer_cases(rec, rng, 86, jobs, ("tf32",))), (8, layer_cases(rec, rng, 224, (64,), ("bf16", "f16", "tf32"))), (8, layer_cases(rec, rng, 224, (1, 8, 16, 32, 128, 256), ("bf16", "tf32"))),
             (5, layer_cases(rec, rng, 86, (16, 64, 128, 600), ("bf16", "tf32"))), (5, layer_cases(rec, rng, 32, (64, 128, 256, 512), ("tf32", "bf16"))), (4, layer_cases(rec, rng, 224, (32, 64), ("bf16", "tf32"), "nhwc")),
             (14, random_cases(rec, rng, ("tf32", "tf32", "bf16"), ("nchw",))), (8, random_cases(rec, rng, ("tf32", "bf16", "f16", "f32"), ("nchw", "nhwc"))), (8, scaling_cases(rec, rng)), (2, combined_cases(rec, rng)),
             (3, other_conv_cases(rec, rng)), (8, channels_last_cases(rec, rng)), (8, autocast_cases(rec, rng)), (40, other_models(rec, rng))]
    asked = {f.__name__: f for f in (odd_cases, search_cases)}  # these only where they are named: they take long, and search_cases changes what all others take
    kinds += [(3, f(rec, rng)) for f in (reductions, sorts, embeddings, norms, losses, products, attention, recurrent, optimizers)]
    if wanted := sys.argv[3:]:
        kinds = [(share, cases) for share, cases in kinds if cases.__name__ in wanted] + [(1, f(rec, rng)) for name, f in asked.items() if name in wanted]
    used = [0.0] * len(kinds)
    live = set(range(len(kinds)))
    while live and time.monotonic() < end:
        i = min(live, key=lambda j: used[j] / kinds[j][0])
        begin = time.monotonic()
        try:
            next(kinds[i][1])
        except StopIteration:
            live.discard(i)
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        used[i] += time.monotonic() - begin
    rec.flush()
    rec.write(["seconds", [round(u, 1) for u in used], sorted(live)])
    rec.file.close()
    print(rec.cases, "cases;", "unfinished kinds:", sorted(live))


if __name__ == "__main__":
    main()
