"""Small programs whose GPU memory is recorded by record.py, one pattern of use each.

Each function returns step(i). All are seeded; nothing is downloaded. Names that begin
with leak_ plant a leak: the functions named in LEAKS allocate what is never freed.
Names that begin with oom_ run under a limit and die; CAUSE says of what.
"""
import gc
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

W, LEAKS, CAUSE, LIMIT_MIB, CONF, STEPS, RECORD = {}, {}, {}, {}, {}, {}, {}
MiB = 1 << 20


def case(leak=None, cause=None, limit_mib=None, conf="", steps=12, **record):
    def register(f):
        n = f.__name__
        W[n], CONF[n], STEPS[n], RECORD[n] = f, conf, steps, record
        if leak:
            LEAKS[n] = leak
        if cause:
            CAUSE[n] = cause
        if limit_mib:
            LIMIT_MIB[n] = limit_mib
        return f
    return register


def mlp(width=2048, depth=6):
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.GELU())], nn.Linear(width, 10)).cuda()


def convnet():
    return nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.BatchNorm2d(128),
                         nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).cuda()


def images(n=16, size=64):
    return torch.randn(n, 3, size, size, device="cuda"), torch.randint(0, 10, (n,), device="cuda")


# --- healthy -----------------------------------------------------------------------------------

@case()
def train_mlp_adamw():
    m = mlp(); o = torch.optim.AdamW(m.parameters())
    def step(i):
        x = torch.randn(512, 2048, device="cuda"); y = torch.randint(0, 10, (512,), device="cuda")
        F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case()
def train_varying():
    """Batches of ever other sizes, under default settings: the recording from which other settings are predicted."""
    m = mlp(); o = torch.optim.Adam(m.parameters()); r = random.Random(6)
    def step(i):
        n = r.randrange(64, 8192)
        F.cross_entropy(m(torch.randn(n, 2048, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
    return step


@case(steps=16)
def images_of_many_sizes():
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); r = random.Random(8)
    def step(i):
        x, y = images(r.randrange(1, 24), r.randrange(48, 400, 16)); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=12)
def empties_cache():
    """Calls empty_cache every third step, as many scripts do."""
    step = images_of_many_sizes()
    def inner(i):
        step(i)
        if i % 3 == 2:
            torch.cuda.empty_cache()
    return inner


@case(conf="expandable_segments:True")
def train_varying_expandable():
    m = mlp(); o = torch.optim.Adam(m.parameters()); r = random.Random(1)
    def step(i):
        n = r.randrange(64, 4096)
        F.cross_entropy(m(torch.randn(n, 2048, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
        if i % 4 == 3:
            torch.cuda.empty_cache()
    return step


@case(conf="max_split_size_mb:32,roundup_power2_divisions:4")
def train_varying_split_roundup():
    m = mlp(); o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9); r = random.Random(2)
    def step(i):
        n = r.randrange(64, 8192)
        F.cross_entropy(m(torch.randn(n, 2048, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
    return step


@case(conf="roundup_power2_divisions:[1:8,64:4,>:2]")
def train_varying_roundup_list():
    m = mlp(1024); o = torch.optim.SGD(m.parameters(), 0.1); r = random.Random(3)
    def step(i):
        n = r.randrange(64, 16384)
        F.cross_entropy(m(torch.randn(n, 1024, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
    return step


@case(conf="large_segment_size_mb:64,expandable_segments:True")
def train_large_pages():
    return train_mlp_adamw()


@case(conf="max_split_size_mb:24,expandable_segments:True")
def train_split_and_expandable():
    m = mlp(); r = random.Random(5)
    def step(i):
        n = r.randrange(64, 8192)
        m(torch.randn(n, 2048, device="cuda")).sum().backward()
        m.zero_grad(set_to_none=True)
    return step


@case(steps=24)
def grad_accumulation():
    m = convnet(); o = torch.optim.AdamW(m.parameters())
    def step(i):
        x, y = images(8)
        (F.cross_entropy(m(x), y) / 4).backward()
        if i % 4 == 3:
            o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=16)
def gan():
    g = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 3 * 64 * 64), nn.Unflatten(1, (3, 64, 64))).cuda(); d = convnet()
    og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    def step(i):
        real, _ = images(32); fake = g(torch.randn(32, 128, device="cuda"))
        (d(real).mean() - d(fake.detach()).mean()).backward(); od.step(); od.zero_grad(set_to_none=True)
        d(fake).mean().backward(); og.step(); og.zero_grad(set_to_none=True); od.zero_grad(set_to_none=True)
    return step


@case(steps=30)
def train_and_eval():
    """Every fifth step is an evaluation that keeps its outputs until it ends."""
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1)
    def step(i):
        if i % 5 == 4:
            with torch.no_grad():
                outs = [m(images(64)[0]) for _ in range(6)]
            torch.cat(outs).argmax(1).cpu()
            return
        x, y = images(); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=40)
def replay_buffer():
    """A ring of 10 batches on the GPU, overwritten in turn."""
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); buf = []
    def step(i):
        x, y = images()
        if len(buf) < 10:
            buf.append(x)
        else:
            buf[i % 10] = x
        F.cross_entropy(m(random.Random(i).choice(buf)), y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=30)
def ema_and_metrics():
    """Running averages updated in place and out of place, and scalars collected with item()."""
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); hist = []; avg = torch.zeros((), device="cuda")
    ema = [p.detach().clone() for p in m.parameters()]
    def step(i):
        nonlocal avg
        x, y = images(); loss = F.cross_entropy(m(x), y); loss.backward(); o.step(); o.zero_grad(set_to_none=True)
        avg = avg * 0.9 + loss.detach() * 0.1; hist.append(loss.item())
        with torch.no_grad():
            for e, p in zip(ema, m.parameters()):
                e.mul_(0.99).add_(p, alpha=0.01)
    return step


@case(steps=10)
def kv_cache_requests():
    """Serving: a cache that grows token by token and is dropped with its request."""
    q = nn.Linear(1024, 3072).cuda().eval()
    @torch.inference_mode()
    def step(i):
        r = random.Random(i); b, n = r.randrange(1, 8), r.randrange(64, 400)
        k = v = torch.zeros(b, 0, 1024, device="cuda")
        for _ in range(n // 8):
            _, kk, vv = q(torch.randn(b, 8, 1024, device="cuda")).chunk(3, -1)
            k, v = torch.cat([k, kk], 1), torch.cat([v, vv], 1)
        (k @ v.transpose(1, 2)).sum().item()
    return step


@case(steps=24)
def cycles_collected():
    """Objects in reference cycles hold activations until the collector runs, every 6 steps."""
    gc.disable(); m = convnet()
    class Node: pass
    def step(i):
        x, y = images(); a, b = Node(), Node(); a.peer, b.peer, a.feat = b, a, m[0](x)
        m(x).sum().backward(); m.zero_grad(set_to_none=True)
        if i % 6 == 5:
            gc.collect()
    return step


@case(steps=12)
def graphs_compiled():
    """torch.compile with CUDA graphs: private pools and restored checkpoints of them."""
    m = torch.compile(nn.Sequential(nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 1024)).cuda(), mode="reduce-overhead")
    o = torch.optim.SGD(m.parameters(), 0.1)
    def step(i):
        torch.compiler.cudagraph_mark_step_begin()
        n = (64, 128)[i // 6]
        m(torch.randn(n, 1024, device="cuda")).sum().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=10)
def own_pool():
    """A torch.cuda.MemPool of the program's own, dropped half way."""
    pool = torch.cuda.MemPool(); keep = []; m = mlp(1024, 2)
    def step(i):
        nonlocal pool
        if i < 5:
            with torch.cuda.use_mem_pool(pool):
                keep.append(torch.empty((i + 1) * 3 * MiB, dtype=torch.uint8, device="cuda"))
        if i == 6:
            keep.clear(); pool = None; torch.cuda.empty_cache()
        m(torch.randn(1000 + 100 * i, 1024, device="cuda")).sum().backward(); m.zero_grad(set_to_none=True)
    return step


@case(steps=20)
def side_stream():
    """A prefetching stream with record_stream: frees wait for the other stream."""
    s = torch.cuda.Stream(); m = mlp(2048, 3); o = torch.optim.SGD(m.parameters(), 0.1)
    host = torch.randn(2048, 2048).pin_memory()
    def step(i):
        with torch.cuda.stream(s):
            x = host.cuda(non_blocking=True) * 2
        torch.cuda.current_stream().wait_stream(s); x.record_stream(torch.cuda.current_stream())
        m(x).sum().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


class UNet(nn.Module):
    """A small diffusion U-Net: skip connections keep activations of every scale until the way back."""
    def __init__(self, width=48):
        super().__init__()
        def block(i, o): return nn.Sequential(nn.GroupNorm(8, i), nn.SiLU(), nn.Conv2d(i, o, 3, padding=1))
        self.enter = nn.Conv2d(4, width, 3, padding=1)
        self.down = nn.ModuleList([block(width * 2 ** k, width * 2 ** (k + 1)) for k in range(3)])
        self.mid = block(width * 8, width * 8)
        self.up = nn.ModuleList([block(width * 2 ** (k + 2), width * 2 ** k) for k in (2, 1, 0)])
        self.leave = nn.Conv2d(width, 4, 3, padding=1)
    def forward(self, x):
        x = self.enter(x); skips = []
        for d in self.down:
            x = d(x); skips.append(x); x = F.avg_pool2d(x, 2)
        x = self.mid(x)
        for u in self.up:
            x = u(torch.cat([F.interpolate(x, scale_factor=2), skips.pop()], 1))
        return self.leave(x)


@case(steps=14)
def diffusion_unet():
    """Aspect-ratio buckets: the image size changes from batch to batch."""
    m = UNet().cuda(); o = torch.optim.AdamW(m.parameters()); r = random.Random(12)
    def step(i):
        h, w, n = r.choice([(64, 64), (48, 80), (80, 48), (32, 128), (128, 32), (96, 96)]) + (r.randrange(2, 20),)
        noise = torch.randn(n, 4, h, w, device="cuda"); F.mse_loss(m(noise + 0.1), noise).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=12)
def moe_routing():
    """Mixture of experts: how many tokens each expert gets depends on the data."""
    gate = nn.Linear(512, 8).cuda(); experts = nn.ModuleList([nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8)]).cuda()
    o = torch.optim.AdamW([*gate.parameters(), *experts.parameters()])
    def step(i):
        g = torch.Generator(device="cuda").manual_seed(i); x = torch.randn(4096 + 1024 * (i % 3), 512, device="cuda", generator=g)
        p = gate(x).softmax(-1); top = (torch.arange(len(x), device="cuda") * (i + 3) % 97 % 8)
        y = torch.zeros_like(x)
        for e in range(8):
            rows = (top == e).nonzero().squeeze(1)
            y = y.index_add(0, rows, experts[e](x[rows]) * p[rows, e:e + 1])
        y.square().mean().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=10)
def lora_transformer():
    """Frozen bf16 weights with small trained adapters, sequences of many lengths."""
    layer = nn.TransformerEncoderLayer(1024, 8, 4096, batch_first=True, dtype=torch.bfloat16, device="cuda"); base = nn.TransformerEncoder(layer, 6).requires_grad_(False)
    a, b = nn.Linear(1024, 16, bias=False, device="cuda", dtype=torch.bfloat16), nn.Linear(16, 1024, bias=False, device="cuda", dtype=torch.bfloat16)
    o = torch.optim.AdamW([*a.parameters(), *b.parameters()]); r = random.Random(13)
    def step(i):
        x = torch.randn(r.randrange(1, 8), r.randrange(64, 1024), 1024, device="cuda", dtype=torch.bfloat16)
        base(x + b(a(x))).float().square().mean().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=24)
def two_streams():
    """Two producers on streams of their own, their results recorded on the main one."""
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]; m = mlp(1024, 3); o = torch.optim.SGD(m.parameters(), 0.1); r = random.Random(14)
    def step(i):
        parts = []
        for s in streams:
            with torch.cuda.stream(s):
                p = torch.randn(r.randrange(500, 9000), 1024, device="cuda") * 2
            torch.cuda.current_stream().wait_stream(s); p.record_stream(torch.cuda.current_stream()); parts.append(p)
        torch.cuda.synchronize()
        m(torch.cat(parts)).sum().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=14)
def pool_kept():
    """A torch.cuda.MemPool that lives as long as the program, beside ordinary training."""
    pool = torch.cuda.MemPool(); m = mlp(1024, 3); o = torch.optim.SGD(m.parameters(), 0.1); r = random.Random(15); keep = []
    def step(i):
        with torch.cuda.use_mem_pool(pool):
            keep.append(torch.empty(r.randrange(1, 30) * MiB, dtype=torch.uint8, device="cuda"))
            if len(keep) > 4:
                keep.pop(r.randrange(4))
        m(torch.randn(r.randrange(500, 9000), 1024, device="cuda")).sum().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(steps=12, context="alloc")  # with context="all" PyTorch 2.11 may end in a SystemError in the backward pass
def checkpointed():
    """Activation checkpointing: the forward pass is run again, block by block, in the backward pass."""
    from torch.utils.checkpoint import checkpoint
    m = mlp(2048, 8); o = torch.optim.AdamW(m.parameters()); r = random.Random(16)
    def step(i):
        x = torch.randn(r.randrange(64, 8192), 2048, device="cuda", requires_grad=True)
        for block in m:
            x = checkpoint(block, x, use_reentrant=False)
        x.square().mean().backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


# --- forms of recording ------------------------------------------------------------------------

@case(steps=16, late=6)
def late_start():
    """Recording begins after six steps: memory is in use before the first event."""
    return train_and_eval()


@case(steps=30, max_entries=1000)
def ring_cut():
    return grad_accumulation()


@case(steps=30, max_entries=1500, conf="expandable_segments:True")
def ring_cut_expandable():
    m = mlp(); o = torch.optim.Adam(m.parameters()); r = random.Random(1)
    def step(i):
        n = r.randrange(64, 4096)
        F.cross_entropy(m(torch.randn(n, 2048, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
        if i % 8 == 7:
            torch.cuda.empty_cache()
    return step


@case(steps=8, context="alloc")
def context_alloc():
    return train_and_eval()


@case(steps=8, context=None)
def no_stacks():
    return train_and_eval()


@case(steps=8, enabled="state")
def state_only():
    return train_mlp_adamw()


@case(steps=3, stacks="all")
def cpp_stacks():
    return train_mlp_adamw()


@case(steps=6, protocol=2)
def protocol2():
    return train_and_eval()


@case(steps=6, protocol=5)
def protocol5():
    return train_and_eval()


@case(steps=6, annotate=True)
def profiler_steps():
    return grad_accumulation()


# --- planted leaks -----------------------------------------------------------------------------

@case(leak=("step",), steps=40)
def leak_every_tenth():
    """Outputs kept on the GPU every tenth step, for a log."""
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); log = []
    def step(i):
        x, y = images(64); out = m(x)
        F.cross_entropy(out, y).backward(); o.step(); o.zero_grad(set_to_none=True)
        if i % 5 == 4:
            log.append(m(x))
    return step


@case(leak=("step", "remember"), steps=30)
def leak_from_step_ten():
    m = convnet(); o = torch.optim.AdamW(m.parameters()); kept = []
    def remember(x): kept.append(x * 1.0)
    def step(i):
        x, y = images(32); F.cross_entropy(m(x), y).backward(); o.step(); o.zero_grad(set_to_none=True)
        if i >= 10:
            remember(x)
    return step


@case(leak=("step",), steps=24)
def leak_varying_batch():
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); losses = []; r = random.Random(4)
    def step(i):
        x, y = images(r.randrange(4, 48)); loss = F.cross_entropy(m(x), y); losses.append(loss)
        loss.backward(retain_graph=True); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(leak=("lookup", "step"), steps=24)
def leak_cache_without_bound():
    """A dictionary keyed by something that never repeats."""
    m = convnet(); cache = {}
    def lookup(i): return cache.setdefault(i, torch.randn(64, 128, 32, 32, device="cuda"))
    @torch.no_grad()
    def step(i): m[3](lookup(i)[:, :64]).sum().item()
    return step


@case(leak=("step",), steps=24, conf="expandable_segments:True")
def leak_loss_sum_expandable():
    m = convnet(); o = torch.optim.SGD(m.parameters(), 0.1); total = 0.0
    def step(i):
        nonlocal total
        x, y = images(); loss = F.cross_entropy(m(x), y); total = total + loss
        loss.backward(retain_graph=True); o.step(); o.zero_grad(set_to_none=True)
    return step


@case(leak=("step", "forward"), steps=60, max_entries=2500)
def leak_seen_through_ring():
    m = convnet(); kept = []; o = torch.optim.SGD(m.parameters(), 0.1)
    def step(i):
        x, y = images(); f = m[:3](x); kept.append(f.detach()); F.cross_entropy(m[3:](f), y).backward(); o.step(); o.zero_grad(set_to_none=True)
    return step


# --- runs that die -----------------------------------------------------------------------------

@case(cause="true-shortage", limit_mib=2048, steps=60)
def oom_batch_too_large():
    m = mlp(); o = torch.optim.AdamW(m.parameters())
    def step(i):
        n = 512 * 2 ** i
        F.cross_entropy(m(torch.randn(n, 2048, device="cuda")), torch.randint(0, 10, (n,), device="cuda")).backward(); o.step(); o.zero_grad()
    return step


@case(cause="fragmentation", limit_mib=1024, steps=60)
def oom_checkerboard():
    """Every second block is freed: much is free, nothing large."""
    blocks = []
    def step(i):
        if i < 3:
            blocks.extend(torch.empty(4 * MiB, dtype=torch.uint8, device="cuda") for _ in range(72)); return
        if i == 3:
            del blocks[::2]; return
        blocks.append(torch.empty(60 * MiB * (i - 3), dtype=torch.uint8, device="cuda"))
    return step


@case(cause="stranded", limit_mib=1024, steps=10)
def oom_stranded_on_stream():
    """Memory freed on a side stream can't serve the main one, and one small block keeps each segment."""
    s = torch.cuda.Stream(); kept, big = [], []
    def step(i):
        if i < 7:
            with torch.cuda.stream(s):
                for _ in range(6):
                    a, b = torch.empty(17 * MiB, dtype=torch.uint8, device="cuda"), torch.empty(2 * MiB, dtype=torch.uint8, device="cuda")
                    kept.append(b); big.append(a)
            return
        if i == 7:
            torch.cuda.synchronize(); big.clear(); return
        torch.empty(400 * MiB, dtype=torch.uint8, device="cuda").zero_()
    return step


@case(cause="stranded", limit_mib=1024, steps=10)
def oom_stranded_in_graph_pool():
    """A CUDA graph's private pool keeps what its capture needed."""
    x = torch.zeros(100 * MiB, dtype=torch.uint8, device="cuda"); g = torch.cuda.CUDAGraph(); s = torch.cuda.Stream()
    def step(i):
        if i == 0:
            with torch.cuda.graph(g):
                for _ in range(2):
                    ys = [x + 1 for _ in range(6)]; del ys
            return
        if i > 1:
            torch.empty(500 * MiB, dtype=torch.uint8, device="cuda")
    return step


@case(limit_mib=1024, steps=12)
def oom_survived():
    """The program catches the failure and goes on with a smaller batch."""
    m = mlp(1024, 3)
    def step(i):
        n = 200_000 if i == 5 else 2000
        try:
            m(torch.randn(n, 1024, device="cuda")).sum().backward()
        except torch.OutOfMemoryError:
            n = 0
        if n == 0:
            m(torch.randn(2000, 1024, device="cuda")).sum().backward()
        m.zero_grad(set_to_none=True)
    return step


@case(cause="true-shortage", limit_mib=1024, steps=40, conf="expandable_segments:True")
def oom_expandable():
    kept = []
    def step(i): kept.append(torch.empty(37 * MiB, dtype=torch.uint8, device="cuda"))
    return step
