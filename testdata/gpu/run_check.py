"""Shows on a real GPU what `ullage run` promises, and prints a table. Takes about a minute on one H200.

usage: run_check.py ULLAGE [OUT]      ULLAGE is the program; OUT a folder for what is written (default: a temporary one)

What recording costs is for overhead_check.py: here only that losses are the same to the last bit, without and with it.
"""
import glob
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

MIB, GIB = 1 << 20, 1 << 30
STEPS = 20
TRAP_RUNS = 2  # of each context under checkpointing


# --- what runs in processes of their own


def resnet(batch=64):
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (batch,), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def transformer(batch=16):
    import torch

    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda()
    head = torch.nn.Linear(1024, 32000).cuda()
    optimizer = torch.optim.AdamW([*model.parameters(), *head.parameters()], lr=1e-4)
    x = torch.randn(batch, 256, 1024, device="cuda")
    y = torch.randint(0, 32000, (batch * 256,), device="cuda")

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            logits = head(model(x)).flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits.float(), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def decoding():
    """The worst case: small kernels, each with allocations, so that the CPU is what is waited for."""
    import torch

    weights = [torch.randn(512, 512, device="cuda", dtype=torch.bfloat16) / 23 for _ in range(48)]

    @torch.inference_mode()
    def step():
        x = torch.ones(1, 512, device="cuda", dtype=torch.bfloat16)
        cache = torch.empty(0, 512, device="cuda", dtype=torch.bfloat16)
        for _ in range(16):
            for w in weights:
                x = torch.nn.functional.gelu(x @ w) + x
                x = x / x.norm()
            cache = torch.cat([cache, x])
        return cache.float().sum()

    return step


WORKLOADS = {"resnet50": resnet, "transformer": transformer, "decoding": decoding}


def losses(result):
    """The losses of every workload's steps in this process, to the last bit."""
    import torch

    torch.backends.cudnn.deterministic = True
    rows = {}
    for name, make in WORKLOADS.items():
        torch.manual_seed(0)
        step = make()
        rows[name] = [step().item().hex() for _ in range(STEPS)]
        del step
        torch.cuda.empty_cache()
    with open(result, "w") as f:
        json.dump(rows, f)


def run_out():
    """Fills the cache with pieces that no large tensor fits in, and then runs out: before it does, PyTorch frees the cache."""
    import torch

    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(4 * GIB / total)
    kept = [torch.empty(24 * MIB, dtype=torch.uint8, device="cuda") for _ in range(40)]
    cached = [torch.empty(24 * MIB, dtype=torch.uint8, device="cuda") for _ in range(100)]
    del cached
    torch.empty(4 * GIB - 500 * MIB, dtype=torch.uint8, device="cuda")
    print(len(kept))


def second_device():
    """Uses the second GPU alone, and more of it than a limit of 4 GiB allows, once the limit has had time to come."""
    import torch

    kept = [torch.empty(MIB, dtype=torch.uint8, device="cuda:1")]
    time.sleep(0.1)
    contexts = [torch._C._cuda_hasPrimaryContext(d) for d in range(torch.cuda.device_count())]
    try:
        kept += [torch.empty(256 * MIB, dtype=torch.uint8, device="cuda:1") for _ in range(20)]
    except torch.OutOfMemoryError:
        print("refused after", sum(k.numel() for k in kept) // MIB, end=" MiB, ")
    print("reserved", torch.cuda.memory_reserved(1) // MIB, "MiB, contexts", *contexts)


def survive():
    """Fails thirty times and goes on, as cuDNN does while it looks for an algorithm."""
    import torch

    kept = torch.ones(MIB, device="cuda")
    for _ in range(30):
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError:
            pass
    print(float(kept[0]))


def library():
    """An error of a library that means a lack of memory, and that no observer of the allocator hears of."""
    import torch

    torch.ones(1, device="cuda")
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


def lazy():
    """Watching uses CUDA no earlier than the program does."""
    import torch

    before = torch.cuda.is_initialized(), torch.cuda.is_available(), torch.cuda.is_initialized()
    torch.ones(1, device="cuda")
    print("initialized:", before[0], before[2], torch.cuda.is_initialized(), "recording:", bool(torch.cuda.memory._snapshot()["device_traces"][0]))


def checkpointing(context):
    """A transformer under non-reentrant checkpointing. "ullage" leaves recording as it is."""
    import torch
    from torch.utils.checkpoint import checkpoint

    if context != "ullage":
        torch.cuda.memory._record_memory_history(context=None if context == "None" else context, stacks="python", max_entries=100_000)
    try:
        from transformers import LlamaConfig, LlamaForCausalLM

        model = LlamaForCausalLM(LlamaConfig(vocab_size=8000, hidden_size=512, intermediate_size=1024, num_hidden_layers=8, num_attention_heads=8)).cuda()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
        ids = torch.randint(0, 8000, (4, 256), device="cuda")
        for _ in range(10):
            model(input_ids=ids, labels=ids).loss.backward()
        print("ran: transformers")
    except ImportError:
        layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(512, 8, 1024, batch_first=True) for _ in range(8)).cuda()
        x = torch.randn(4, 256, 512, device="cuda", requires_grad=True)
        for _ in range(10):
            h = x
            for layer in layers:
                h = checkpoint(layer, h, use_reentrant=False)
            h.sum().backward()
        print("ran: torch alone")


# --- what runs them


class Check:
    def __init__(self, ullage, out):
        self.ullage, self.out, self.failed = os.path.abspath(ullage), out, False

    def python(self, *args, watched=None, flags=(), env=None):
        """Runs a part of this file, under ullage run if watched names a folder. Returns exit code, output and messages."""
        command = [sys.executable, os.path.abspath(__file__), "--part", *args]
        if watched:
            command = [self.ullage, "run", "--out", os.path.join(self.out, watched), *flags, "--", *command]
        p = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(env or {})})
        return p.returncode, p.stdout, p.stderr

    def recordings(self, folder):
        return sorted(glob.glob(os.path.join(self.out, folder, "*.pickle")))

    def say(self, what, good, detail):
        self.failed = self.failed or not good
        print(f"{'ok ' if good else 'BAD'} {what:44s} {detail}", flush=True)

    def results(self):
        runs = []
        for watched in (None, "results"):
            result = os.path.join(self.out, f"losses-{watched}.json")
            code, _, err = self.python("losses", result, watched=watched)
            if code:
                return self.say("results", False, f"exit {code}: {err[-400:]}")
            with open(result) as f:
                runs.append(json.load(f))
        for name in WORKLOADS:
            self.say(f"results of {name}", runs[0][name] == runs[1][name], f"{STEPS} losses, equal to the bit" if runs[0][name] == runs[1][name] else "losses differ")

    def running_out(self):
        code, _, err = self.python("run_out", watched="oom")
        files = self.recordings("oom")
        if len(files) != 1:
            return self.say("out of memory", False, f"exit {code}, {len(files)} recordings: {err[-600:]}")
        with open(files[0], "rb") as f:
            events = pickle.load(f)["device_traces"][0]
        with open(files[0][:-7] + ".json") as f:
            beside = json.load(f)
        actions = [e["action"] for e in events]
        at = actions.index("oom") if "oom" in actions else -1
        flushed = sum(a == "segment_free" for a in actions[:max(at, 0)])
        made = sum(a == "segment_alloc" for a in actions[:max(at, 0)])
        good = code == 1 and at > 0 and flushed > 0 and made > flushed and "Out of memory" in err and "out of memory" in (beside["message"] or "")
        self.say("out of memory: from before the flush", good,
                 f"exit {code}; {len(events)} events, the failure is number {at}; {made} segments made and {flushed} flushed before it; limit beside it {beside['devices'][0]['limit_bytes']}")
        print("    " + "\n    ".join(err[err.find("ullage: 1 recording"):].splitlines()[:8]), flush=True)

    def others(self):
        code, out, err = self.python("survive", watched="survived")
        n = len(self.recordings("survived"))
        self.say("thirty failures survived", code == 0 and 1 <= n <= 2, f"exit {code}, {n} recordings")
        code, out, err = self.python("library", watched="library")
        n = len(self.recordings("library"))
        self.say("a library's own error", code == 1 and n == 1, f"exit {code}, {n} recordings")
        code, out, err = self.python("lazy", watched="lazy")
        self.say("no CUDA before the program's own", "initialized: False False True recording: True" in out, out.strip() or err[-300:])
        code, out, err = self.python("lazy", watched="exit", flags=("--snapshot-at", "exit", "--limit", "20GiB"))
        files = self.recordings("exit")
        limit = json.load(open(files[0][:-7] + ".json"))["devices"][0]["limit_bytes"] if files else None
        self.say("at exit, with a limit", code == 0 and len(files) == 1 and abs((limit or 0) - 20 * GIB) < MIB, f"exit {code}, {len(files)} recordings, limit {limit}")

    def devices(self):
        """On a machine of several GPUs: a limit makes no context on one that the program does not use."""
        import torch

        count = torch.cuda.device_count()
        if count < 2:
            return self.say("a limit, on the second GPU", True, "not checked: there is one GPU")
        code, out, err = self.python("second_device", watched="second", flags=("--limit", "4GiB"))
        good = code == 0 and out.startswith("refused") and "contexts False True" in out
        self.say("a limit, on the second GPU", good, out.strip() or err[-300:])

    def ranks(self):
        launch = ("import os, subprocess, sys\nps = [subprocess.Popen([sys.executable, sys.argv[1], '--part', 'run_out'], env={**os.environ, 'RANK': str(r), 'LOCAL_RANK': '0'}) "
                  "for r in range(2)]\nsys.exit(max(p.wait() for p in ps))")
        p = subprocess.run([self.ullage, "run", "--out", os.path.join(self.out, "ranks"), "--", sys.executable, "-c", launch, os.path.abspath(__file__)], capture_output=True, text=True)
        names = [os.path.basename(n) for n in self.recordings("ranks")]
        self.say("two processes, one folder", len(names) == 2 and "2 devices in 2 files" in p.stderr, f"exit {p.returncode}: {', '.join(names)}")

    def trap(self):
        def one(context):
            ends = [self.python("checkpointing", context, watched="trap" if context == "ullage" else None) for _ in range(TRAP_RUNS)]
            words = [out.strip() if code == 0 else (err.strip().splitlines() or ["?"])[-1][:90] for code, out, err in ends]
            return context, all(code == 0 for code, _, _ in ends), "; ".join(sorted(set(words)))
        with ThreadPoolExecutor(5) as pool:
            for context, ran, words in pool.map(one, ("None", "state", "alloc", "all", "ullage")):
                expected = ran or context == "all"  # whether "all" dies depends on the release
                self.say(f"checkpointing, context={context}" if context != "ullage" else "checkpointing under ullage run", expected, f"{TRAP_RUNS} runs: {words}")


def main(ullage, out):
    import torch

    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if torch.cuda.is_available() else 'no GPU'}, Python {sys.version.split()[0]}", flush=True)
    os.makedirs(out, exist_ok=True)
    check, begin = Check(ullage, out), time.monotonic()
    for part in (check.results, check.running_out, check.others, check.devices, check.ranks, check.trap):
        part()
    print(f"took {time.monotonic() - begin:.0f} s", flush=True)
    sys.exit(check.failed)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--part":
        globals()[sys.argv[2]](*sys.argv[3:])
    else:
        main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
