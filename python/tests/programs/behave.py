"""A program that does what its arguments say, one after the other. The tests of ullage run run it.

usage: behave.py ACTION...
"""
import os
import subprocess
import sys
import threading
import time

GIB = 1 << 30
MIB = 1 << 20
DEADLINE = 60.0


def torch():
    import torch

    return torch


def until(there):
    """Waits for something that another process or thread does."""
    end = time.monotonic() + DEADLINE
    while not there():
        if time.monotonic() > end:
            sys.exit("behave.py: nothing came")
        time.sleep(0.01)


def out_folder():
    with open(os.path.join(os.environ["ULLAGE_RUN"], "out"), "rb") as f:
        return os.fsdecode(f.read())


def written(ending):
    folder = out_folder()
    return [n for n in (os.listdir(folder) if os.path.isdir(folder) else []) if n.endswith(ending) and not n.startswith(".")]


def raises_in_thread(action):
    t = threading.Thread(target=ACTIONS[action])
    t.start()
    t.join()


def replace_excepthook():
    sys.excepthook = lambda t, v, tb: print("own hook:", t.__name__, file=sys.stderr)


def hidden():
    torch().cuda._lazy_init()
    raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


def wrapped():
    try:
        hidden()
    except RuntimeError as e:
        raise ValueError("step 3 failed") from e


def survive():
    t = torch()
    for _ in range(30):
        try:
            t.cuda.alloc(64 * GIB)
        except t.OutOfMemoryError:
            pass


def spawned(action):
    ACTIONS[action]()


def multiprocess(method, action):
    import multiprocessing

    p = multiprocessing.get_context(method).Process(target=spawned, args=(action,))
    p.start()
    p.join()
    print("child:", p.exitcode)


def fork_after_use():
    torch().cuda.alloc(GIB)
    pid = os.fork()
    if pid == 0:
        try:
            torch().cuda.alloc(GIB)
        except RuntimeError as e:
            print("forked:", e, flush=True)
        torch().cuda.is_available()
        os._exit(7)
    print("forked child:", os.waitpid(pid, 0)[1] >> 8)


def handle(name):
    import signal

    def handler(number, frame):
        print("got", signal.Signals(number).name, flush=True)
        sys.exit(9)

    signal.signal(getattr(signal, name), handler)


def clock_back():
    """The clock is set back by an hour."""
    now = time.time
    time.time = lambda: now() - 3600


def pause():
    """Waits to be killed or asked."""
    print("ready", os.getpid(), flush=True)
    until(lambda: os.path.exists("go-on"))


ACTIONS = {
    "import": torch,
    "use": lambda: torch().cuda.alloc(GIB),
    "free": lambda: torch().cuda.free(GIB),
    "use-10": lambda: torch().cuda.alloc(10 * GIB),
    "free-10": lambda: torch().cuda.free(10 * GIB),
    "oom": lambda: torch().cuda.alloc(64 * GIB),
    "hidden": hidden,
    "wrapped": wrapped,
    "survive": survive,
    "oom-in-thread": lambda: raises_in_thread("hidden"),
    "replace-excepthook": replace_excepthook,
    "fork": fork_after_use,
    "forked-oom": lambda: multiprocess("fork", "oom"),
    "forked-use": lambda: multiprocess("fork", "use"),
    "forked-hidden": lambda: multiprocess("fork", "hidden"),
    "spawned-hidden": lambda: multiprocess("spawn", "hidden"),
    "served-oom": lambda: multiprocess("forkserver", "oom"),
    "served-hidden": lambda: multiprocess("forkserver", "hidden"),
    "spawned-oom": lambda: multiprocess("spawn", "oom"),
    "subprocess-oom": lambda: print("child:", subprocess.run([sys.executable, __file__, "use", "oom"]).returncode),
    "handle-INT": lambda: handle("SIGINT"),
    "handle-TERM": lambda: handle("SIGTERM"),
    "handle-USR1": lambda: handle("SIGUSR1"),
    "pause": pause,
    "remove-folder": lambda: __import__("shutil").rmtree(os.environ["ULLAGE_RUN"]),
    "clock-back": clock_back,
    "exec": lambda: os.execv(sys.executable, [sys.executable, __file__, *sys.argv[sys.argv.index("exec") + 1:]]),
    "kill": lambda: os.kill(os.getpid(), 9),
    "exit-5": lambda: sys.exit(5),
    "print-history": lambda: print("history:", torch()._C.history),
    "use-device-2": lambda: torch().cuda.alloc(GIB, 2),
    "oom-device-2": lambda: torch().cuda.alloc(64 * GIB, 2),
    "wait-for-limit": lambda: until(lambda: torch()._C.fractions),
    "print-contexts": lambda: print("contexts:", torch()._C.contexts),
    "print-limits": lambda: print("limits:", torch()._C.fractions),
    "print-conf": lambda: print("conf:", os.environ.get("PYTORCH_ALLOC_CONF"), os.environ.get("PYTORCH_CUDA_ALLOC_CONF")),
    "print-modules": lambda: print("torch imported:", "torch" in sys.modules),
    "print-tools": lambda: print("tools:", sorted(k for k in os.environ if k.startswith("TOOL_"))),
    "print-stdin": lambda: print("stdin:", sys.stdin.read().strip()),
    "small-files": lambda: __import__("resource").setrlimit(__import__("resource").RLIMIT_FSIZE, (64 << 10, 64 << 10)),
    "wait-for-counters": lambda: until(lambda: written("_counters.jsonl")),
    "wait-for-recording": lambda: until(lambda: written(".pickle")),
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        ACTIONS[name]()
