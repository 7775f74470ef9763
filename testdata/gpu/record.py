"""Records every workload of workloads.py, each in a process of its own, and what PyTorch counted meanwhile.

usage: record.py OUT [NAME...]     writes OUT/NAME.pickle.xz, and adds a line to OUT/recorded.jsonl, for each;
                                   without names, all of them, and OUT/leaks.json
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
MIB = 1 << 20
AT_ONCE = 4  # processes: each uses at most 2 GiB of the GPU
WITH_TEXTS = ("train_mlp_adamw", "oom_checkerboard")  # of these memory_summary() and memory_stats() are kept too
HISTORY = ("enabled", "context", "stacks", "max_entries")  # arguments of _record_memory_history that a case may set
COUNTERS = {  # in recorded.jsonl: in memory_stats()
    "peak_requested": "requested_bytes.all.peak", "peak_allocated": "allocated_bytes.all.peak", "peak_active": "active_bytes.all.peak",
    "peak_reserved": "reserved_bytes.all.peak", "final_allocated": "allocated_bytes.all.current", "final_reserved": "reserved_bytes.all.current",
    "alloc_retries": "num_alloc_retries", "num_ooms": "num_ooms", "device_allocs": "num_device_alloc", "device_frees": "num_device_free",
}


def run(name, record):
    """Runs a workload with recording on.

    Returns the text of the error that ended it, or None; what was allocated and reserved after each step; and what
    has to live until the dump: with the workload goes the memory that it holds.
    """
    import torch
    import workloads as w
    history = {k: record[k] for k in HISTORY if k in record}
    late = record.get("late", 0)  # steps before recording begins
    if not late:
        torch.cuda.memory._record_memory_history(**history)
    profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) if record.get("annotate") else None
    oom, step, per_step = None, None, []
    try:
        step = w.W[name]()
        if profile:
            profile.__enter__()  # never left: the recording is taken within it
        for i in range(w.STEPS[name]):
            if late and i == late:
                torch.cuda.memory._record_memory_history(**history)
            step(i)
            torch.cuda.synchronize()
            per_step.append([torch.cuda.memory_allocated(), torch.cuda.memory_reserved()])
            if profile:
                profile.step()
    except torch.OutOfMemoryError as e:
        oom = str(e)
    return oom, per_step, (step, profile)


def one(name, out):
    """Records a workload in this process."""
    import torch
    import workloads as w
    torch.manual_seed(0)
    record, limit = w.RECORD[name], w.LIMIT_MIB.get(name, 0) * MIB or None
    total = torch.cuda.get_device_properties(0).total_memory
    if limit:
        torch.cuda.set_per_process_memory_fraction(limit / total)
    oom, per_step, alive = run(name, record)
    stats, summary = torch.cuda.memory_stats(), torch.cuda.memory_summary()
    with lzma.open(os.path.join(out, name + ".pickle.xz"), "wb", preset=6) as f:
        f.write(pickle.dumps(torch.cuda.memory._snapshot(), protocol=record.get("protocol", 4)))
    del alive
    row = {"recording": name + ".pickle.xz", "alloc_conf": w.CONF[name], "limit_bytes": limit, "steps_done": len(per_step), "oom": oom is not None, "oom_text": oom}
    row.update({key: stats[counter] for key, counter in COUNTERS.items()})
    row.update({"complete": not record.keys() & {"late", "max_entries"} and record.get("enabled") != "state", "oom_cause": w.CAUSE.get(name), "per_step": per_step,
                "torch": torch.__version__, "device": torch.cuda.get_device_name(), "device_bytes": total})
    with open(os.path.join(out, "recorded.jsonl"), "a") as f:
        f.write(json.dumps(row) + "\n")
    if name in WITH_TEXTS:
        with open(os.path.join(out, name + ".summary.txt"), "w") as f:
            f.write(summary)
        with open(os.path.join(out, name + ".stats.json"), "w") as f:
            json.dump(stats, f)
    print(f"{name:28s} {len(per_step):3d} steps, allocated {row['peak_allocated'] / MIB:9.1f}, reserved {row['peak_reserved'] / MIB:9.1f} MiB{', out of memory' if oom else ''}", flush=True)


def child(name, out):
    """Records a workload in a process of its own, which reads its settings from the environment."""
    import workloads as w
    env = dict(os.environ)
    for key in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        env.pop(key, None)
        if w.CONF[name]:
            env[key] = w.CONF[name]
    begin = time.monotonic()
    p = subprocess.run([sys.executable, __file__, "--one", name, out], env=env, capture_output=True, text=True, timeout=180)
    sys.stdout.write(p.stdout)
    if p.returncode:
        print(f"{name}: exit {p.returncode} after {time.monotonic() - begin:.0f} s\n{p.stderr[-1500:]}", flush=True)


def main(out, names):
    import workloads as w
    os.makedirs(out, exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda name: child(name, out), names or list(w.W)))
    if not names:
        with open(os.path.join(out, "leaks.json"), "w") as f:
            json.dump({name: list(functions) for name, functions in w.LEAKS.items()}, f)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--one":
        one(sys.argv[2], sys.argv[3])
    else:
        main(sys.argv[1], sys.argv[2:])
