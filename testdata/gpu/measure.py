"""Runs workloads of workloads.py under other allocator settings and limits, without recording, and writes what PyTorch counted.

usage: measure.py OUT.jsonl

Each line can be predicted from the workload's recording, which record.py made under default settings.
"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
MIB = 1 << 20
WORKLOADS = ("train_varying", "images_of_many_sizes", "empties_cache", "train_and_eval", "gan", "kv_cache_requests", "side_stream",
             "diffusion_unet", "moe_routing", "lora_transformer", "two_streams", "pool_kept", "own_pool", "checkpointed")
CONFS = ("expandable_segments:True", "max_split_size_mb:32", "max_split_size_mb:128", "roundup_power2_divisions:4", "roundup_power2_divisions:[1:2,16:8,>:1]",
         "large_segment_size_mb:64", "max_split_size_mb:64,max_non_split_rounding_mb:40", "expandable_segments:True,max_split_size_mb:64")
SHARES = (0.7, 0.85)  # limits, as shares of what the default settings reserve
UNDER_LIMIT = ("", "expandable_segments:True", "max_split_size_mb:32", "garbage_collection_threshold:0.7")


def one(name, limit_mib):
    import torch
    import workloads as w
    torch.manual_seed(0)
    total = torch.cuda.get_device_properties(0).total_memory
    if limit_mib:
        torch.cuda.set_per_process_memory_fraction(limit_mib * MIB / total)
    oom, done = False, 0
    try:
        step = w.W[name]()
        for i in range(w.STEPS[name]):
            step(i)
            torch.cuda.synchronize()
            done += 1
    except torch.OutOfMemoryError:
        oom = True
    s = torch.cuda.memory_stats()
    print(json.dumps({"workload": name, "alloc_conf": os.environ.get("PYTORCH_ALLOC_CONF", ""), "limit_bytes": limit_mib * MIB or None, "steps_done": done, "oom": oom,
                      "peak_requested": s["requested_bytes.all.peak"], "peak_allocated": s["allocated_bytes.all.peak"], "peak_active": s["active_bytes.all.peak"],
                      "peak_reserved": s["reserved_bytes.all.peak"], "final_reserved": s["reserved_bytes.all.current"], "alloc_retries": s["num_alloc_retries"],
                      "num_ooms": s["num_ooms"], "device_allocs": s["num_device_alloc"], "device_frees": s["num_device_free"], "recording": name + ".pickle.xz"}))


def child(run):
    name, conf, limit = run
    env = dict(os.environ)
    for key in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        env.pop(key, None)
        if conf:
            env[key] = conf
    p = subprocess.run([sys.executable, __file__, "--one", name, str(limit)], env=env, capture_output=True, text=True, timeout=200)
    if p.returncode:
        print(f"{run}: exit {p.returncode}\n{p.stderr[-800:]}", flush=True)
    return p.stdout


def main():
    with ThreadPoolExecutor(12) as pool, open(sys.argv[1], "w") as f:
        default = dict(zip(WORKLOADS, pool.map(child, [(n, "", 0) for n in WORKLOADS])))
        limits = {n: [round(json.loads(line)["peak_reserved"] * share / MIB) for share in SHARES] for n, line in default.items() if line}
        runs = [(n, c, 0) for n in WORKLOADS for c in CONFS] + [(n, c, m) for n in WORKLOADS for m in limits.get(n, ()) for c in UNDER_LIMIT]
        for line in [*default.values(), *pool.map(child, runs)]:
            f.write(line)
    print(len(default) + len(runs), "runs")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(sys.argv[2], int(sys.argv[3]))
    else:
        main()
