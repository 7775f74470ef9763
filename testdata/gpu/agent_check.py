"""Shows on a real GPU what the agent and its leases promise, and prints what it measured. Takes about four minutes.

usage: agent_check.py ULLAGE [PART...]      ULLAGE is the program; parts: see PARTS (default: all that the machine has GPUs for)

It is one file because it starts itself: the programs that run under leases are further down, in functions of their own. What
the driver says is asked of NVML here too, by ctypes, beside the agent.
"""
import calendar
import ctypes
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

MIB, GIB = 1 << 20, 1 << 30
CLOSE = 16 * MIB  # within which figures agree
HANDOVERS = 20
failures = []


# --- the driver, asked without the agent


class Memory(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Nvml:
    def __init__(self):
        self.lib = ctypes.CDLL("libnvidia-ml.so.1")
        self.call("nvmlInit_v2")
        count = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        self.handles = {}
        for i in range(count.value):
            handle, uuid = ctypes.c_void_p(), ctypes.create_string_buffer(96)
            self.call("nvmlDeviceGetHandleByIndex_v2", i, ctypes.byref(handle))
            self.call("nvmlDeviceGetUUID", handle, uuid, 96)
            self.handles[uuid.value.decode()] = handle

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise OSError(f"{name}: NVML's error {code}")

    def memory(self, uuid):
        m = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
        self.call("nvmlDeviceGetMemoryInfo_v2", self.handles[uuid], ctypes.byref(m))
        return m

    def processes(self, uuid):
        """Bytes by process."""
        n, rows = ctypes.c_uint(256), (Process * 256)()
        self.call("nvmlDeviceGetComputeRunningProcesses_v3", self.handles[uuid], ctypes.byref(n), rows)
        return {r.pid: r.used for r in rows[: n.value]}


# --- the agent


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("agent", timeout=90)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(90)
        self.sock.connect(self.path)


class Agent:
    def __init__(self, ullage):
        self.ullage, self.dir = ullage, tempfile.mkdtemp(prefix="agent-check-")
        self.socket, self.log = os.path.join(self.dir, "agent.sock"), os.path.join(self.dir, "log")
        self.config = os.path.join(self.dir, "agent.toml")
        self.configure("warn")
        command = [ullage, "agent", "--config", self.config, "--socket", self.socket, "--state", self.dir, "--metrics", ""]
        self.process = subprocess.Popen(command, stderr=open(self.log, "w"), stdin=subprocess.DEVNULL)
        wait("the agent is ready", lambda: os.path.exists(self.socket) and self.get("/v1/agent")["ready"])

    def configure(self, over):
        with open(self.config, "w") as f:
            f.write(f'[watch]\nover = "{over}"\ngrace = "1s"\n')

    def reload(self, over):
        self.configure(over)
        self.process.send_signal(signal.SIGHUP)
        time.sleep(1)

    def get(self, path):
        c = Connection(self.socket)
        try:
            c.request("GET", path)
            answer = json.loads(c.getresponse().read())
        finally:
            c.close()
        if "error" in answer:
            raise RuntimeError(f"{path}: {answer}")
        return answer

    def leases(self):
        return {row["name"]: row for row in self.get("/v1/leases?all=true")["leases"]}

    def logged(self, message):
        """Times of a message, in seconds."""
        with open(self.log) as f:
            rows = [json.loads(line) for line in f if line.endswith("}\n")]
        return [seconds(r["time"]) for r in rows if r["msg"] == message]

    def program(self, command, *args, lease=None, **options):
        """Starts one of the programs below under a lease: with the companion by run, or without by lease request."""
        name = options.pop("name")
        if command == "run":
            head = ["run", "--history", options.pop("history", "0"), "--out", os.path.join(self.dir, "out"), "--socket", self.socket, "--lease", lease]
        else:
            head = ["lease", "request", "--socket", self.socket, "--memory", lease]
        flags = [f"--{k}={v}" for k, v in options.items()]
        script = os.path.join(self.dir, name + ".py")  # whose name becomes the lease's
        os.symlink(os.path.realpath(__file__), script)
        out = open(os.path.join(self.dir, name + ".out"), "w")
        line = [self.ullage, *head, *flags, "--", sys.executable, script, "--program", *map(str, args)]
        return subprocess.Popen(line, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, "CHECK_DIR": self.dir})

    def said(self, name, deadline=90):
        """What a program has left in its file, once it is there."""
        path = os.path.join(self.dir, name + ".json")
        wait(f"word from {name}", lambda: os.path.exists(path), deadline)
        with open(path) as f:
            return json.load(f)

    def tell(self, name):
        open(os.path.join(self.dir, name), "w").close()

    def end(self):
        self.process.terminate()
        self.process.wait(30)


def seconds(text):
    """A time of RFC 3339, in seconds since the epoch."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (fraction or "0"))


def wait(what, there, deadline=60, pause=0.005):
    end = time.monotonic() + deadline
    while True:
        try:
            if there():
                return
        except (OSError, ValueError):
            pass
        if time.monotonic() > end:
            raise SystemExit(f"not in {deadline} s: {what}")
        time.sleep(pause)


def check(what, good):
    print(f"  {'kept  ' if good else 'BROKEN'}  {what}")
    if not good:
        failures.append(what)


def mib(n):
    return "-" if n is None else f"{n / MIB:,.1f}"


def of_job(state, pid, uuid):
    for job in state["jobs"]:
        if job["pid"] == pid:
            for row in job["devices"]:
                if row["device"] == uuid:
                    return job, row
    return None, {}


# --- parts


def figures(agent, nvml, uuids):
    """Two training jobs and a greedy one: what everybody says of their memory, and how soon the greedy one is caught."""
    jobs = {"first": agent.program("run", "train", "first", 20, 6, lease="40GiB", name="first", gpu=uuids[0]),
            "second": agent.program("run", "train", "second", 12, 3, lease="24GiB", name="second", gpu=uuids[0])}
    own = {name: agent.said(name) for name in jobs}
    time.sleep(6)  # three periods of reports
    state, leases = agent.get("/v1/state"), agent.leases()
    driver = nvml.processes(uuids[0])
    rows = []
    for name, mine in own.items():
        job, row = of_job(state, mine["pid"], uuids[0])
        lease, told = leases[name], row.get("allocator") or {}
        rows.append((name, lease["memory_bytes"], lease["shares"][0]["used_bytes"], driver.get(mine["pid"]), mine["reserved"], told.get("reserved_bytes"),
                     row.get("outside_bytes"), told.get("limit_bytes"), lease["grade"], (job or {}).get("step")))
    print(f"  {'MiB':8}{'lease':>12}{'ledger use':>12}{'NVML':>12}{'allocator':>12}{'reported':>12}{'outside':>12}{'limit':>12}  grade   step")
    for name, *amounts, grade, step in rows:
        print(f"  {name:8}" + "".join(f"{mib(n):>12}" for n in amounts) + f"  {grade:8}{step}")
    for name, lease, used, seen, reserved, told, outside, limit, grade, _ in rows:
        check(f"{name}: lease, driver and allocator agree within 16 MiB and the context",
              seen is not None and outside is not None and abs(used - seen) <= CLOSE and abs(told - reserved) <= CLOSE and abs(seen - reserved - outside) <= CLOSE)
        check(f"{name}: its limit and what it uses besides fit its lease, and it is said to keep to it", limit + outside <= lease and grade == "self")
    caught(agent, nvml, uuids[0])
    agent.tell("end")
    check("both jobs end well", [p.wait(60) for p in jobs.values()] == [0, 0])
    os.unlink(os.path.join(agent.dir, "end"))


def caught(agent, nvml, uuid):
    times = []
    for turn in range(5):
        name = f"greedy{turn}"
        before = len(agent.logged("a lease uses more than its share"))
        greedy = agent.program("request", "greedy", name, 8 * GIB, lease="8GiB", name=name, gpu=uuid)
        at = agent.said(name)["over_at"]
        wait("overuse is seen", lambda: len(agent.logged("a lease uses more than its share")) > before, 20)
        times.append(agent.logged("a lease uses more than its share")[-1] - at)
        greedy.kill()
        os.kill(agent.said(name)["pid"], signal.SIGKILL)
        greedy.wait()
        wait("its memory is free", lambda: agent.leases()[name]["state"] == "ended", 30)
    print("  overuse by 1 GiB seen after " + ", ".join(f"{t:.2f}" for t in sorted(times)) + " s")
    check("overuse is seen within 2 s", max(times) <= 2)
    agent.reload("stop")
    greedy = agent.program("request", "greedy", "stopped", 8 * GIB, lease="8GiB", name="stopped", gpu=uuid)
    over = agent.said("stopped")["over_at"]
    code = greedy.wait(30)
    print(f"  with over = \"stop\" and a grace of 1 s: ended {time.time() - over:.2f} s after it, with exit code {code}")
    check("one that uses too much is stopped", code != 0)
    agent.reload("warn")


def limit(agent, nvml, uuids):
    """A job that allocates until PyTorch refuses, and two processes that do so under one lease."""
    for name, processes in ("fills", 1), ("fills-both", 2):
        job = agent.program("run", "fill", name, processes, lease="12GiB", name=name, gpu=uuids[0], history="20000")
        own = [agent.said(f"{name}-{i}") for i in range(processes)]
        time.sleep(2.5)
        driver = nvml.processes(uuids[0])
        pids = [p["pid"] for p in own]
        used = sum(driver.get(p, 0) for p in pids)
        peak = max(p["most"] for p in own) if processes == 1 else used
        share = agent.leases()[name]["shares"][0]
        print(f"  {name}: of 12,288.0 MiB, NVML {mib(used)}, at most {mib(peak)}; reserved " + " and ".join(mib(p["reserved"]) for p in own)
              + "; limit " + " and ".join(mib(p["limit"]) for p in own) + f"; refused: {own[0]['error'][:60]}…")
        check(f"{name}: memory by the driver stays within the lease", 0 < used <= share["bytes"] and peak <= share["bytes"] and used == share["used_bytes"])
        check(f"{name}: most of it can be used", used > 0.93 * share["bytes"])
        agent.tell(name + "-end")
        job.wait(60)
        with open(os.path.join(agent.dir, name + ".out")) as f:
            text = " ".join(f.read().split())
        found = re.search(r"within the [0-9.]+ .iB that its lease of [0-9.]+ .iB left it", text)
        print(f"  {name}: explained: {found.group(0) if found else '-'}")
        check(f"{name}: the report says that the lease was the limit", bool(found))


def handovers(agent, nvml, uuids):
    """A holder is killed while the next one waits: when is its memory granted again, and is it free by then?"""
    uuid, total = uuids[0], nvml.memory(uuids[0])
    size = (total.total - total.reserved) * 6 // 10 // GIB
    holder = agent.program("request", "hold", "hold0", size * GIB - GIB, lease=f"{size}GiB", name="hold0", gpu=uuid)
    times, early = [], 0
    for turn in range(1, HANDOVERS + 1):
        now = agent.said(f"hold{turn - 1}")
        following = agent.program("request", "hold", f"hold{turn}", size * GIB - GIB, lease=f"{size}GiB", name=f"hold{turn}", gpu=uuid)
        wait("the next one waits", lambda: agent.leases().get(f"hold{turn}", {}).get("state") == "queued", 20)
        killed = time.time()
        holder.kill()
        os.kill(now["pid"], signal.SIGKILL)
        holder.wait()
        lease = {}
        while lease.get("state") != "granted":
            time.sleep(0.002)
            lease = agent.leases()[f"hold{turn}"]
        early += now["pid"] in nvml.processes(uuid) or nvml.memory(uuid).free < size * GIB
        times.append(seconds(lease["granted"]) - killed)
        holder = following
    last = agent.said(f"hold{HANDOVERS}")
    holder.kill()
    os.kill(last["pid"], signal.SIGKILL)
    holder.wait()
    times.sort()
    print(f"  {size} GiB, {len(times)} times: granted again after p50 {times[len(times) // 2]:.3f} s, p99 {times[-1]:.3f} s (least {times[0]:.3f} s)")
    check("memory is granted again only once the driver shows it free", early == 0)


def two(agent, nvml, uuids):
    """Placement on two GPUs: best fit, a lease on both, and a rank with a context on the wrong one."""
    wait("the GPUs are free", lambda: not any(d["granted_bytes"] or d["foreign_bytes"] for d in agent.get("/v1/devices")["devices"]))
    held = [agent.program("request", "hold", "third", GIB, lease="60GiB", name="third", gpu=uuids[0])]
    agent.said("third")
    for name, memory in ("small", "30GiB"), ("large", "100GiB"):  # in this order: after the large one, the small one fits GPU 1 best
        held.append(agent.program("request", "hold", name, GIB, lease=memory, name=name))
        agent.said(name)
    leases = agent.leases()
    place = {name: uuids.index(leases[name]["shares"][0]["device"]) for name in ("third", "small", "large")}
    print(f"  with 60 GiB leased on GPU 0: 30 GiB are placed on GPU {place['small']}, 100 GiB on GPU {place['large']}")
    check("the best fit: the GPU that is left with the least room, and the one that has it", (place["small"], place["large"]) == (0, 1))
    pair = agent.program("run", "ranks", "pair", lease="40GiB", name="pair", gpus=2)
    wait("the pair waits", lambda: agent.leases().get("pair", {}).get("state") == "queued", 20)
    for reason in agent.get(f"/v1/leases/{agent.leases()['pair']['id']}/explain")["reasons"][:2]:
        print(f"  40 GiB on two GPUs wait: {reason['text']}")
    for name, p in zip(("large",), held[2:]):
        p.kill()
        os.kill(agent.said(name)["pid"], signal.SIGKILL)
        p.wait()
    own = [agent.said(f"pair-{rank}") for rank in range(2)]
    time.sleep(5)
    state, lease = agent.get("/v1/state"), agent.leases()["pair"]
    for rank, mine in enumerate(own):
        _, row = of_job(state, mine["pid"], mine["uuid"])
        share = next(s for s in lease["shares"] if s["device"] == mine["uuid"])
        seen = nvml.processes(mine["uuid"])
        by_lease = sum(used for pid, used in seen.items() if pid in [p["pid"] for p in own])
        print(f"  rank {rank} on GPU {uuids.index(mine['uuid'])}: lease {mib(share['bytes'])}, ledger use {mib(share['used_bytes'])}, NVML {mib(by_lease)},"
              f" allocator {mib(mine['reserved'])}, reported {mib((row.get('allocator') or {}).get('reserved_bytes'))}, outside {mib(row.get('outside_bytes'))}")
        check(f"rank {rank}: figures agree", abs(share["used_bytes"] - by_lease) <= CLOSE and abs(row["allocator"]["reserved_bytes"] - mine["reserved"]) <= CLOSE)
    strays = [(j["rank"], uuids.index(d["device"]), d["used_bytes"]) for j in state["jobs"] for d in j["devices"] if d.get("stray")]
    print("  stray contexts: " + ", ".join(f"rank {r} on GPU {g}, {mib(used)} MiB" for r, g, used in strays))
    check("the context that rank 1 made on the first GPU of the lease is told", [s[0] for s in strays] == [1])
    check("two GPUs of one lease are two", len({p["uuid"] for p in own}) == 2)
    agent.tell("pair-end")
    check("the pair ends well", pair.wait(60) == 0)
    for name, p in zip(("third", "small"), held):
        p.kill()
        os.kill(agent.said(name)["pid"], signal.SIGKILL)
        p.wait()


def cost(agent, nvml, uuids):
    """What reporting costs a step, in one process: blocks of steps with and without, in turn."""
    job = agent.program("request", "cost", "cost", lease="40GiB", name="cost", gpu=uuids[0])
    check("it runs", job.wait(150) == 0)
    told = agent.said("cost", 1)
    print(f"  a step of {told['step_ms']:.2f} ms: {told['percent']:+.3f} % with reports (95 % of resamplings: {told['low']:+.3f} to {told['high']:+.3f} %);"
          f" the thread that reports takes {told['thread_ms']:.2f} ms of the processor for each of {told['reports']} reports")
    check("a report each 2 s takes less than 0.1 % of a processor", told["thread_ms"] / 2000 < 0.001)


def leak(agent, nvml, uuids):
    """A job that keeps 4 MiB of each step: how soon is it told, and how exactly?"""
    job = agent.program("run", "leak", "leak", lease="30GiB", name="leak", gpu=uuids[0])
    mine, row = agent.said("leak"), {}
    begun = time.monotonic()
    while "slope_bytes_per_step" not in row and time.monotonic() < begun + 90:
        time.sleep(0.5)
        _, row = of_job(agent.get("/v1/state"), mine["pid"], uuids[0])
    slope = row.get("slope_bytes_per_step")
    print(f"  told after {time.monotonic() - begun:.0f} s: {mib(slope)} MiB a step")
    check("a steady leak is told within a minute, within 5 %", slope is not None and time.monotonic() - begun < 60 and abs(slope / (4 * MIB) - 1) < 0.05)
    agent.tell("leak-end")
    check("it ends well", job.wait(60) == 0)


PARTS = {"figures": (figures, 1), "limit": (limit, 1), "handovers": (handovers, 1), "two": (two, 2), "leak": (leak, 1), "cost": (cost, 1)}


# --- the programs under leases


def leave(name, **word):
    path = os.path.join(os.environ["CHECK_DIR"], name + ".json")
    with open(path + ".new", "w") as f:
        json.dump({"pid": os.getpid(), **word}, f)
    os.rename(path + ".new", path)


def until(name):
    while not os.path.exists(os.path.join(os.environ["CHECK_DIR"], name)):
        time.sleep(0.02)


def train(name, steps, layers):
    import torch

    model = torch.nn.Sequential(*[m for _ in range(int(layers)) for m in (torch.nn.Linear(8192, 8192), torch.nn.GELU())]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(int(steps)):
        model(torch.randn(4096, 8192, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        time.sleep(0.05)
    torch.cuda.synchronize()
    leave(name, reserved=torch.cuda.memory_reserved(), allocated=torch.cuda.memory_allocated())
    until("end")


def fill(name, processes):
    import torch.multiprocessing as mp

    mp.start_processes(fill_one, (name, processes), nprocs=int(processes), start_method="spawn") if int(processes) > 1 else fill_one(0, name, processes)


def fill_one(index, name, processes):
    import torch

    torch.zeros(1, device="cuda")
    leave(f"{name}-{index}-there")
    for other in range(int(processes)):
        until(f"{name}-{other}-there.json")
    time.sleep(2)  # in which they tell the agent of each other
    nvml, uuid, kept, most = Nvml(), os.environ["CUDA_VISIBLE_DEVICES"].split(",")[0], [], 0
    try:
        while True:
            kept.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
            most = max(most, nvml.processes(uuid).get(os.getpid(), 0))
            time.sleep(0.005)
    except torch.OutOfMemoryError as e:
        total = torch.cuda.get_device_properties(0).total_memory
        bound = round(torch.cuda.get_per_process_memory_fraction(0) * total)
        leave(f"{name}-{index}", reserved=torch.cuda.memory_reserved(), limit=bound, most=most, error=str(e))
        until(name + "-end")
        if index == 0:
            raise


def leaking(name):
    import torch

    model = torch.nn.Linear(2048, 2048, device="cuda")
    optimizer, kept = torch.optim.AdamW(model.parameters()), []
    while not os.path.exists(os.path.join(os.environ["CHECK_DIR"], name + "-end")):
        model(torch.randn(256, 2048, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        kept.append(torch.empty(4 * MIB, dtype=torch.uint8, device="cuda"))
        if len(kept) == 1:
            leave(name)
        time.sleep(0.05)


class Driver:
    """CUDA's driver API: memory that no framework has any part in."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            raise OSError(f"{name}: CUDA's error {code}")

    def take(self, size):
        address = ctypes.c_ulonglong()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))


def greedy(name, share):
    driver, taken = Driver(), 0
    while taken <= int(share):
        driver.take(GIB)
        taken += GIB
    leave(name, over_at=time.time())
    time.sleep(120)


def hold(name, size):
    Driver().take(int(size))
    leave(name)
    time.sleep(300)


def ranks(name):
    import torch.multiprocessing as mp

    mp.start_processes(rank, (name,), nprocs=2, start_method="spawn")


def rank(index, name):
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(index)
    import torch

    if index == 1:
        torch.cuda.synchronize(0)  # as a program does that sets its device too late
    torch.cuda.set_device(index)
    model = torch.nn.Linear(16384, 16384, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        model(torch.randn(1024, 16384, device="cuda")).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    leave(f"{name}-{index}", uuid=os.environ["CUDA_VISIBLE_DEVICES"].split(",")[index], reserved=torch.cuda.memory_reserved())
    until(name + "-end")


def cost_of(name, blocks=40, steps=24):
    import random
    import statistics
    import threading

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "python", "src"))
    import torch

    from ullage._companion import job, report
    from ullage._companion.limits import Limits
    from ullage._torch.steps import Steps

    config = job.Config(folder=os.environ["CHECK_DIR"], run="r", out="", job="cost", history=0, at_exit=False, budgets=(), limit=0, socket=os.environ["ULLAGE_SOCKET"])
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True, norm_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(64, 256, 1024, device="cuda")
    spent, reports = 0.0, 0
    turn = report.Reporter._turn

    def timed(self):
        nonlocal spent, reports
        before = time.thread_time()
        pause = turn(self)
        spent, reports = spent + time.thread_time() - before, reports + 1
        return pause

    report.Reporter._turn = timed

    def block():
        begun = time.perf_counter()
        for _ in range(steps):
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        return (time.perf_counter() - begun) / steps * 1000

    counted, pairs = Steps(torch), []
    block()
    for i in range(blocks // 2):
        times = {}
        for watched in (True, False) if i % 2 else (False, True):
            reporter = report.Reporter(torch, config, Limits(torch, config), job.Meeting(config.folder), counted)
            if watched:
                reporter.begin()
            times[watched] = block()
            if watched:
                reporter.end()
        pairs.append((times[False], times[True]))
    ratio = [100 * (b / a - 1) for a, b in pairs]
    again = random.Random(1)
    medians = sorted(statistics.median(again.choices(ratio, k=len(ratio))) for _ in range(2000))
    leave(name, step_ms=statistics.median(a for a, _ in pairs), percent=statistics.median(ratio), low=medians[50], high=medians[1949],
          thread_ms=1000 * spent / max(1, reports), reports=reports)
    assert threading.active_count() < 10


PROGRAMS = {"train": train, "fill": fill, "greedy": greedy, "hold": hold, "ranks": ranks, "leak": leaking, "cost": cost_of}


def main():
    if sys.argv[1] == "--program":
        PROGRAMS[sys.argv[2]](*sys.argv[3:])
        return
    nvml, agent = Nvml(), Agent(os.path.abspath(sys.argv[1]))
    about, state = agent.get("/v1/agent"), agent.get("/v1/state")
    uuids = [d["uuid"] for d in state["reading"]["devices"]]
    print(f"{len(uuids)} × {state['reading']['devices'][0]['name']}, driver {state['reading']['driver']}, probe {about['probe']} ({state['reading']['source']})")
    try:
        for name in sys.argv[2:] or PARTS:
            part, needed = PARTS[name]
            if len(uuids) >= needed:
                print(f"{name}: {part.__doc__}")
                begun = time.monotonic()
                part(agent, nvml, uuids)
                print(f"  ({time.monotonic() - begun:.0f} s)")
    except (SystemExit, Exception) as e:
        failures.append(f"{type(e).__name__}: {e}")
        with open(agent.log) as f:
            sys.stderr.write(f.read()[-4000:])
        for name in sorted(os.listdir(agent.dir)):
            if name.endswith(".out"):
                with open(os.path.join(agent.dir, name)) as f:
                    sys.stderr.write(f"--- {name}\n{f.read()[-1500:]}\n")
        raise
    finally:
        agent.end()
        said = subprocess.run([agent.ullage, "ledger", "check", os.path.join(agent.dir, "ledger.db")], capture_output=True, text=True)
        print("ledger: " + (said.stdout + said.stderr).strip().splitlines()[-1])
        print("all kept" if not failures else f"broken: {failures}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
