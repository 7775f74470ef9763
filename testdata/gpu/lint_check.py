"""What the mistakes that `ullage lint` finds cost on a GPU, each beside the same program without it.

    python lint_check.py [CASE …]

Every case runs in a process of its own and prints one line of JSON: `with_bytes` and `without_bytes` are what
torch.cuda.memory_allocated() counts at the place that the case names in `at` (or what it says in `of`).
"""
import gc
import json
import os
import subprocess
import sys

CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def used():
    import torch
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def net(width=1024, depth=4):
    from torch import nn
    return nn.Sequential(*[m for _ in range(depth) for m in (nn.Linear(width, width), nn.ReLU())]).cuda()


def warm():
    """cuBLAS allocates its workspaces, of the forward and of the backward thread."""
    import torch
    net(64, 1)(torch.rand(8, 64, device="cuda")).sum().backward()


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def steps(keep, n=50, backward=True):
    """Returns bytes a step that stay, from the tenth step to the last."""
    import torch
    model = net()
    opt = torch.optim.SGD(model.parameters(), 1e-3)
    state = {"total": 0.0, "list": []}
    seen = []
    for _ in range(n):
        out = model(torch.rand(256, 1024, device="cuda"))
        loss = out.square().mean()
        opt.zero_grad()
        if backward:
            loss.backward()
            opt.step()
        keep(state, loss, out)
        del out, loss
        seen.append(used())
    return round((seen[-1] - seen[9]) / (n - 10))


@case
def loss_with_graph():
    def bad(s, loss, out): s["total"] = s["total"] + loss
    def good(s, loss, out): s["total"] = s["total"] + loss.detach()
    good_bytes, bad_bytes = steps(good), steps(bad)
    before = resident()
    steps(good, 3000)
    between = resident()
    steps(bad, 3000)
    return {"at": "bytes a step, after a backward", "with_bytes": bad_bytes, "without_bytes": good_bytes,
            "host_with_bytes": (resident() - between) // 3000, "host_without_bytes": (between - before) // 3000}


@case
def loss_with_graph_no_backward():
    def bad(s, loss, out): s["total"] = s["total"] + loss
    def good(s, loss, out): s["total"] = s["total"] + loss.detach()
    return {"at": "bytes a step, without a backward", "with_bytes": steps(bad, backward=False), "without_bytes": steps(good, backward=False)}


@case
def list_with_graph():
    def bad(s, loss, out): s["list"].append(loss)
    def good(s, loss, out): s["list"].append(loss.item())
    return {"at": "bytes a step", "with_bytes": steps(bad), "without_bytes": steps(good)}


@case
def list_with_graph_no_backward():
    def bad(s, loss, out): s["list"].append(out)
    def good(s, loss, out): s["list"].append(out.detach().cpu())
    return {"at": "bytes a step", "with_bytes": steps(bad, backward=False), "without_bytes": steps(good, backward=False)}


@case
def eval_without_no_grad():
    import torch
    model = net(4096).eval()
    x = torch.rand(4096, 4096, device="cuda")
    before = used()
    def peak(guard):
        torch.cuda.reset_peak_memory_stats()
        with guard:
            model(x)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    return {"at": "peak of one forward", "with_bytes": peak(torch.enable_grad()), "without_bytes": peak(torch.inference_mode())}


@case
def create_graph():
    import torch
    gc.disable()
    warm()
    def run(bad):
        base = used()
        for _ in range(20):
            model = net(512, 2)
            loss = model(torch.rand(64, 512, device="cuda")).square().mean()
            if bad:
                loss.backward(create_graph=True)
            else:
                torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            del model, loss
        return used() - base
    good = run(False)
    return {"at": "after 20 models that are gone, before a collection", "with_bytes": run(True), "without_bytes": good}


@case
def exception_frame():
    import torch
    def step(n):
        held = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
        if n:
            raise torch.cuda.OutOfMemoryError("as if")
        return held
    base, inside = used(), 0
    try:
        step(1)
    except torch.cuda.OutOfMemoryError:
        inside = used() - base
    return {"at": "in the except block, and after it", "with_bytes": inside, "without_bytes": used() - base}


@case
def module_self_reference():
    import torch
    from torch import nn
    gc.disable()
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(4096, 4096)
            self.fn = lambda x: self.w(x)
    class Good(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(4096, 4096)
    def left(cls):
        base = used()
        m = cls().cuda()
        del m
        return used() - base
    good, bad = left(Good), left(Bad)
    gc.collect()
    return {"at": "after del of the model", "with_bytes": bad, "without_bytes": good, "after_collect_bytes": used()}


@case
def cached_method():
    import functools
    from torch import nn
    class Bad(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(4096, 4096)
        @functools.lru_cache(maxsize=32)
        def shape(self, n): return n
    base = used()
    m = Bad().cuda()
    m.shape(3)
    del m
    gc.collect()
    bad = used() - base
    m = Bad().cuda()
    del m
    gc.collect()
    return {"at": "after del and a collection", "with_bytes": bad, "without_bytes": used() - base - bad}


@case
def hook_cache():
    import torch
    warm()
    def run(bad):
        model, kept = net(), []
        model[1].register_forward_hook(lambda m, i, o: kept.append(o if bad else o.detach().mean().item()))
        base = used()
        for _ in range(10):
            model(torch.rand(256, 1024, device="cuda")).square().mean().backward()
        model.zero_grad()
        return (used() - base) // 10
    good = run(False)
    return {"at": "bytes a step, an activation of 256 × 1024 float32", "with_bytes": run(True), "without_bytes": good}


@case
def retain_graph():
    import torch
    model = net(2048)
    def run(bad):
        x = torch.rand(4096, 2048, device="cuda")
        for _ in range(2):
            torch.cuda.reset_peak_memory_stats()
            loss = model(x).square().mean()
            loss.backward(retain_graph=bad)
            model.zero_grad()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated()
    good = run(False)
    return {"at": "peak of the second step", "with_bytes": run(True), "without_bytes": good}


@case
def recurrent_state():
    import torch
    from torch import nn
    def run(bad):
        rnn, h, seen = nn.GRU(256, 256).cuda(), None, []
        for _ in range(30):
            y, h = rnn(torch.rand(64, 32, 256, device="cuda"), h)
            y.mean().backward(retain_graph=bad)
            if not bad:
                h = h.detach()
            del y
            seen.append(used())
        return (seen[-1] - seen[9]) // 20
    good = run(False)
    return {"at": "bytes a step", "with_bytes": run(True), "without_bytes": good}


@case
def tensor_on_ctx():
    import torch
    gc.disable()
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.y = y
            return y
        @staticmethod
        def backward(ctx, g): return g * 2
    class Good(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            return y
        @staticmethod
        def backward(ctx, g): return g * 2
    def run(f):
        w = torch.rand(1 << 20, device="cuda", requires_grad=True)
        base = used()
        for _ in range(10):
            out = f.apply(w)
            del out
        return (used() - base) // 10
    good = run(Good)
    return {"at": "bytes a call, an output that nobody keeps, before a collection", "with_bytes": run(Bad), "without_bytes": good}


@case
def checkpoint_load():
    import torch
    model = net(4096, 8)
    torch.save(model.state_dict(), "/tmp/lint_check.pt")
    base = used()
    def run(where):
        torch.cuda.reset_peak_memory_stats()
        model.load_state_dict(torch.load("/tmp/lint_check.pt", map_location=where))
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - base
    good = run("cpu")
    return {"at": "peak while it loads, above the model", "with_bytes": run("cuda"), "without_bytes": good, "model_bytes": base}


@case
def conf_after_cuda():
    import torch
    def expandable():
        x = torch.empty(64 << 20, device="cuda")
        del x
        return any(s.get("is_expandable") for s in torch.cuda.memory_snapshot())
    torch.zeros(1, device="cuda")
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    late = expandable()
    return {"at": "whether the setting is in force", "of": "after the first use of CUDA", "in_force": late}


@case
def conf_after_import():
    import torch
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    x = torch.empty(64 << 20, device="cuda")
    return {"at": "whether the setting is in force", "of": "after import torch, before CUDA is used",
            "in_force": any(s.get("is_expandable") for s in torch.cuda.memory_snapshot())}


class OnDevice:
    def __len__(self): return 64

    def __getitem__(self, i):
        import torch
        return torch.ones(4).cuda().cpu()


class OnHost(OnDevice):
    def __getitem__(self, i):
        import torch
        return torch.ones(4)


@case
def worker_context():
    import torch
    from torch.utils.data import DataLoader
    def run(data):
        it = iter(DataLoader(data, batch_size=4, num_workers=4, multiprocessing_context="spawn", persistent_workers=True))
        next(it)
        free, total = torch.cuda.mem_get_info()
        return total - free
    good = run(OnHost())
    return {"at": "used on the device with four workers", "with_bytes": run(OnDevice()), "without_bytes": good}


@case
def thread_workspaces():
    import threading
    import torch
    a = torch.rand(512, 512, device="cuda")
    def run(n):
        go, done = threading.Event(), []
        def work():
            a @ a
            torch.cuda.synchronize()
            done.append(1)
            go.wait()
        base, threads = used(), [threading.Thread(target=work) for _ in range(n)]
        for t in threads: t.start()
        while len(done) < n: pass
        now = used() - base
        go.set()
        for t in threads: t.join()
        return now
    a @ a
    one = run(1)
    return {"at": "eight threads at once, and one", "with_bytes": run(8), "without_bytes": one}


@case
def stream_per_call():
    import torch
    def run(bad):
        torch.cuda.empty_cache()
        base, s = torch.cuda.memory_reserved(), torch.cuda.Stream()
        for _ in range(8):
            if bad:
                s = torch.cuda.Stream()
            with torch.cuda.stream(s):
                x = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
            del x
        torch.cuda.synchronize()
        return torch.cuda.memory_reserved() - base
    good = run(False)
    return {"at": "reserved after eight calls", "with_bytes": run(True), "without_bytes": good}


@case
def pinned_rounding():
    import torch
    def locked():
        with open("/proc/self/status") as f:
            return sum(int(line.split()[1]) << 10 for line in f if line.startswith(("VmPin", "VmRSS")))
    torch.zeros(1, device="cuda")
    def run(mebibytes):
        before = locked()
        x = torch.empty(mebibytes << 20, dtype=torch.uint8, pin_memory=True)
        return locked() - before
    return {"at": "main memory of 1100 MiB and of 1024 MiB, pinned", "with_bytes": run(1100), "without_bytes": run(1024),
            "stats": {k: v for k, v in torch.cuda.host_memory_stats().items() if k.endswith("bytes.current")}}


@case
def logits_float32():
    import torch
    import torch.nn.functional as F
    h = torch.rand(4096, 1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    w = torch.rand(32000, 1024, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    t = torch.randint(0, 32000, (4096,), device="cuda")
    def run(whole):
        torch.cuda.reset_peak_memory_stats()
        base = used()
        if whole:
            F.cross_entropy((h @ w.T).float(), t).backward()
        else:
            for hc, tc in zip(h.split(512), t.split(512)):
                (F.cross_entropy((hc @ w.T).float(), tc, reduction="sum") / 4096).backward()
        torch.cuda.synchronize()
        h.grad = w.grad = None
        return torch.cuda.max_memory_allocated() - base
    good = run(False)
    return {"at": "peak of head, loss and backward, 4096 tokens × 32000", "with_bytes": run(True), "without_bytes": good}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--child":
        row = CASES[sys.argv[2]]()
        print(json.dumps({"case": sys.argv[2], **row}), flush=True)
        os._exit(0)
    import torch
    print(json.dumps({"case": "machine", "torch": torch.__version__, "gpu": torch.cuda.get_device_name(0)}), flush=True)
    for name in sys.argv[1:] or CASES:
        p = subprocess.run([sys.executable, __file__, "--child", name], capture_output=True, text=True, timeout=120)
        lines = [line for line in p.stdout.splitlines() if line.startswith("{")]
        print(lines[-1] if lines else json.dumps({"case": name, "error": p.stderr[-400:]}), flush=True)


if __name__ == "__main__":
    main()
