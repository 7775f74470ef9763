"""Run one workload and write its allocator snapshot and statistics.
usage: capture.py WORKLOAD --steps N --out DIR [--limit-gib G] [--stacks all|python] [--entries N] [--no-record]"""
import argparse, gzip, json, os, pickle, sys, time, shutil
import torch
sys.path.insert(0, os.path.dirname(__file__))
from workloads import W; import more
p = argparse.ArgumentParser()
p.add_argument("workload"); p.add_argument("--steps", type=int, default=6); p.add_argument("--out", default=".")
p.add_argument("--limit-gib", type=float); p.add_argument("--stacks", default="python"); p.add_argument("--entries", type=int, default=2_000_000)
p.add_argument("--no-record", action="store_true"); p.add_argument("--tag", default="")
a = p.parse_args()
torch.manual_seed(0); torch.backends.cudnn.benchmark = False
dev = torch.cuda.get_device_properties(0)
if a.limit_gib: torch.cuda.set_per_process_memory_fraction(a.limit_gib * 2**30 / dev.total_memory)
if not a.no_record: torch.cuda.memory._record_memory_history(max_entries=a.entries, stacks=a.stacks)
oom = None; per_step = []
t0 = time.time()
try:
    step = W[a.workload]()
    for i in range(a.steps):
        ts = time.time(); step(i); torch.cuda.synchronize()
        per_step.append((round(time.time() - ts, 4), torch.cuda.memory_allocated(), torch.cuda.memory_reserved()))
except torch.OutOfMemoryError as e:
    oom = str(e)
st = torch.cuda.memory_stats()
keep = {k: v for k, v in st.items() if (".all." in k or "." not in k)}
name = a.workload + ("-" + a.tag if a.tag else "")
rec = dict(name=name, workload=a.workload, conf=os.environ.get("PYTORCH_ALLOC_CONF", ""), limit_gib=a.limit_gib, steps=len(per_step), torch=torch.__version__,
           device=dev.name, total_memory=dev.total_memory, oom=oom, per_step=per_step, stats=keep, mem_get_info=torch.cuda.mem_get_info(), seconds=round(time.time() - t0, 2))
if not a.no_record:
    path = os.path.join(a.out, name + ".pickle")
    ts = time.time(); torch.cuda.memory._dump_snapshot(path); rec["dump_seconds"] = round(time.time() - ts, 3); rec["snapshot_bytes"] = os.path.getsize(path)
with open(os.path.join(a.out, "stats.jsonl"), "a") as f: f.write(json.dumps(rec) + "\n")
s = rec["stats"]
print(f"{name:34s} conf={rec['conf'] or '-':44s} steps={rec['steps']} peak_alloc={s['allocated_bytes.all.peak']/2**20:9.1f} peak_resv={s['reserved_bytes.all.peak']/2**20:9.1f} resv={s['reserved_bytes.all.current']/2**20:9.1f} segs={s['segment.all.current']} retries={s['num_alloc_retries']} ooms={s['num_ooms']} devalloc={s.get('num_device_alloc')} {rec['seconds']}s{' OOM' if oom else ''}", flush=True)
