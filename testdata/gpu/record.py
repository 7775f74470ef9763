"""Records every workload of workloads.py, each in a process of its own, and what PyTorch counted meanwhile.

usage: record.py OUT [NAME...]     writes OUT/NAME.pickle.xz, OUT/recorded.jsonl and OUT/leaks.json
"""
import json
import lzma
import os
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def dump(record, path):
    import torch
    with lzma.open(path, "wb", preset=6) as f:
        f.write(pickle.dumps(torch.cuda.memory._snapshot(), protocol=record.get("protocol", 4)))


def one(name, out):
    import torch
    import workloads as w
    torch.manual_seed(0)
    record, steps = w.RECORD[name], w.STEPS[name]
    total = torch.cuda.get_device_properties(0).total_memory
    if name in w.LIMIT_MIB:
        torch.cuda.set_per_process_memory_fraction(w.LIMIT_MIB[name] * 2**20 / total)
    begin = lambda: torch.cuda.memory._record_memory_history(**{k: record[k] for k in ("enabled", "context", "stacks", "max_entries") if k in record})
    late = record.get("late", 0)
    if not late:
        begin()
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) if record.get("annotate") else None
    oom, done, per_step = None, 0, []
    try:
        step = w.W[name]()
        if profile:
            profile.__enter__()
        for i in range(steps):
            if late and i == late:
                begin()
            step(i)
            torch.cuda.synchronize()
            per_step.append([torch.cuda.memory_allocated(), torch.cuda.memory_reserved()])
            done += 1
            if profile:
                profile.step()
    except torch.OutOfMemoryError as e:
        oom = str(e)
    s = torch.cuda.memory_stats()
    summary = torch.cuda.memory_summary()
    path = os.path.join(out, name + ".pickle.xz")
    dump(record, path)
    row = {"recording": name + ".pickle.xz", "alloc_conf": w.CONF[name], "limit_bytes": w.LIMIT_MIB.get(name, 0) * 2**20 or None, "steps_done": done, "oom": oom is not None,
           "oom_text": oom, "peak_requested": s["requested_bytes.all.peak"], "peak_allocated": s["allocated_bytes.all.peak"], "peak_active": s["active_bytes.all.peak"],
           "peak_reserved": s["reserved_bytes.all.peak"], "final_allocated": s["allocated_bytes.all.current"], "final_reserved": s["reserved_bytes.all.current"],
           "alloc_retries": s["num_alloc_retries"], "num_ooms": s["num_ooms"], "device_allocs": s["num_device_alloc"], "device_frees": s["num_device_free"],
           "complete": not late and "max_entries" not in record and record.get("enabled") != "state", "oom_cause": w.CAUSE.get(name), "per_step": per_step,
           "torch": torch.__version__, "device": torch.cuda.get_device_name(), "device_bytes": total}
    with open(os.path.join(out, "recorded.jsonl"), "a") as f:
        f.write(json.dumps(row) + "\n")
    if name in ("train_mlp_adamw", "oom_checkerboard"):
        with open(os.path.join(out, name + ".summary.txt"), "w") as f:
            f.write(summary)
        with open(os.path.join(out, name + ".stats.json"), "w") as f:
            json.dump(s, f)
    print(f"{name:28s} steps {done:3d} allocated {s['allocated_bytes.all.peak']/2**20:9.1f} reserved {s['reserved_bytes.all.peak']/2**20:9.1f} MiB ooms {s['num_ooms']} {'OOM' if oom else ''}", flush=True)


def child(name, out):
    import workloads as w
    env = dict(os.environ)
    for key in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        env.pop(key, None)
        if w.CONF[name]:
            env[key] = w.CONF[name]
    t = time.time()
    p = subprocess.run([sys.executable, __file__, "--one", name, out], env=env, capture_output=True, text=True, timeout=180)
    sys.stdout.write(p.stdout + (f"{name}: exit {p.returncode} after {time.time() - t:.0f} s\n{p.stderr[-1500:]}\n" if p.returncode else ""))
    sys.stdout.flush()


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    import workloads as w
    with ThreadPoolExecutor(4) as pool:  # each uses at most 2 GiB of the GPU
        list(pool.map(lambda name: child(name, out), sys.argv[2:] or list(w.W)))
    with open(os.path.join(out, "leaks.json"), "w") as f:
        json.dump({k: list(v) for k, v in w.LEAKS.items()}, f)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(sys.argv[2], sys.argv[3])
    else:
        main()
