"""Runs training scripts that others wrote on a real GPU and prints, for each, the peaks that `ullage fit` is to predict.

usage: scripts_check.py SCRIPTS [--only NAME…] [--steps N] [--jobs N]      measure: one JSON object a line, about 100 s on one H200
       scripts_check.py SCRIPTS --prepare FOLDER [--only NAME…]            copy them there with their data, and print how each is run

SCRIPTS is a folder with a folder a script; nothing of it is part of this repository. In each a run.json says

  {"command": ["python", "train.py", …], "source": "where it is from", "edits": ["what was changed", …],
   "data": [{"kind": "mnist", "path": "data"}, …]}

and SCRIPTS/lib may hold packages as zip files, which are put on the path. Data sets are made here, small and of noise, in the form in
which the scripts read them, so that the scripts themselves need not be changed. A script is measured in a process of its own, which
is ended after N (3) steps of every optimizer, as `ullage fit` ends it, so that both see the same steps.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

# Goes into each measured process as its sitecustomize. It ends the process as fit's stop.py does, by counting steps by optimizer;
# torch is not imported before the script does so itself.
HOOK = '''
import atexit, importlib.abc, json, os, sys

STEPS, OUT = int(os.environ["CHECK_STEPS"]), os.environ["CHECK_OUT"]


class Watch(importlib.abc.MetaPathFinder):
    """Waits for torch.optim.optimizer, and hangs a hook on it once it has run."""

    def find_spec(self, name, path, target=None):
        if name != "torch.optim.optimizer":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module

        def then_hook(module):
            run(module)
            module.register_optimizer_step_post_hook(after)

        spec.loader.exec_module = then_hook
        return spec


counts, owner = {}, os.getpid()


def after(optimizer, args, kwargs):
    counts[id(optimizer)] = counts.get(id(optimizer), 0) + 1
    if min(counts.values()) >= STEPS or max(counts.values()) >= 2 * STEPS:
        write()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def write():
    torch = sys.modules.get("torch")
    if os.getpid() != owner or torch is None or not torch.cuda.is_initialized():
        return
    stats = torch.cuda.memory_stats()
    with open(OUT, "w") as f:
        json.dump({"steps": max(counts.values(), default=0), "torch": torch.__version__, "gpu": torch.cuda.get_device_name(),
                   **{k + "_bytes": stats[k + "_bytes.all.peak"] for k in ("allocated", "reserved", "active", "requested")}}, f)


import importlib.util
sys.meta_path.insert(0, Watch())
atexit.register(write)
'''

IMAGES = 1280  # of a made data set; enough for three batches of every script


def mnist(path: str) -> None:
    """MNIST's four files, of noise."""
    raw = os.path.join(path, "MNIST", "raw")
    os.makedirs(raw)
    for name in ("train", "t10k"):
        with open(os.path.join(raw, f"{name}-images-idx3-ubyte"), "wb") as f:
            f.write(struct.pack(">IIII", 0x803, IMAGES, 28, 28) + random.randbytes(IMAGES * 28 * 28))
        with open(os.path.join(raw, f"{name}-labels-idx1-ubyte"), "wb") as f:
            f.write(struct.pack(">II", 0x801, IMAGES) + bytes(i % 10 for i in range(IMAGES)))


def cifar(path: str, classes: int) -> None:
    """CIFAR-10 or CIFAR-100 in its pickled form, of noise."""
    import numpy

    folder = os.path.join(path, "cifar-10-batches-py" if classes == 10 else "cifar-100-python")
    os.makedirs(folder)
    files = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"] if classes == 10 else ["train", "test"]
    for name in files:
        pixels = numpy.frombuffer(random.randbytes(IMAGES * 3072), dtype=numpy.uint8).reshape(IMAGES, 3072)
        with open(os.path.join(folder, name), "wb") as f:
            pickle.dump({"data": pixels, "labels" if classes == 10 else "fine_labels": [i % classes for i in range(IMAGES)]}, f)
    names = [f"class{i}" for i in range(classes)]
    with open(os.path.join(folder, "batches.meta" if classes == 10 else "meta"), "wb") as f:
        pickle.dump({"label_names" if classes == 10 else "fine_label_names": names}, f)


def pictures(path: str, names: list, size: int) -> None:
    """JPEG files of noise under the given names."""
    from PIL import Image

    for name in names:
        file = os.path.join(path, name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Image.frombytes("RGB", (16, 16), random.randbytes(768)).resize((size, size)).save(file, "JPEG")


def words(path: str, files: list, lines: int, vocabulary: int, heading: str = "") -> None:
    """Text files with lines of up to 40 words, each word of the vocabulary at least once in each."""
    os.makedirs(path, exist_ok=True)
    for name in files:
        with open(os.path.join(path, name), "w") as f:
            f.write(heading)
            for first in range(0, vocabulary, 40):
                f.write(" ".join(f"w{i}" for i in range(first, min(first + 40, vocabulary))) + "\n")
            for _ in range(lines):
                f.write(" ".join(f"w{random.randrange(vocabulary)}" for _ in range(random.randrange(1, 40))) + "\n")


def tokens(path: str, files: list, count: int, vocabulary: int) -> None:
    """Files of 16-bit token numbers."""
    os.makedirs(path, exist_ok=True)
    for name in files:
        with open(os.path.join(path, name), "wb") as f:
            f.write(b"".join(struct.pack("<H", random.randrange(vocabulary)) for _ in range(count)))


def make_data(folder: str, wanted: dict) -> None:
    """Makes one data set of run.json in a script's folder."""
    random.seed(0)
    path = os.path.join(folder, wanted["path"])
    more = {k: v for k, v in wanted.items() if k not in ("kind", "path")}
    {"mnist": mnist, "cifar": cifar, "pictures": pictures, "words": words, "tokens": tokens}[wanted["kind"]](path, **more)


def prepare(scripts: str, folder: str, only: list) -> list:
    """Copies scripts into a folder with their data. Returns what their run.json say, with "name" and "cwd"."""
    runs = []
    for file in sorted(glob.glob(os.path.join(scripts, "*", "run.json"))):
        name = os.path.basename(os.path.dirname(file))
        if only and name not in only:
            continue
        with open(file) as f:
            run = json.load(f)
        cwd = os.path.join(folder, name)
        shutil.copytree(os.path.dirname(file), cwd)
        for wanted in run.get("data", []):
            make_data(cwd, wanted)
        command = [sys.executable if word == "python" else word for word in run["command"]]
        runs.append({**run, "name": name, "cwd": cwd, "command": command})
    return runs


def environment(scripts: str, hook: str = "", **more: str) -> dict:
    """The environment of a script: the hook's folder comes first on the path, then the packages in lib/."""
    path = [hook, *sorted(glob.glob(os.path.join(os.path.abspath(scripts), "lib", "*.zip"))), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "HF_HUB_OFFLINE": "1", **more}


def measure(scripts: str, run: dict, hook: str, steps: int) -> dict:
    """Runs one script and returns its peaks, or why there are none."""
    out, log, began = os.path.join(hook, run["name"] + ".json"), os.path.join(hook, run["name"] + ".log"), time.time()
    env = environment(scripts, hook, CHECK_STEPS=str(steps), CHECK_OUT=out)
    with open(log, "w") as said:  # not a pipe: workers of a data loader that outlive the script would hold it open
        try:
            status = subprocess.run(run["command"], cwd=run["cwd"], env=env, stdout=subprocess.DEVNULL, stderr=said, timeout=90).returncode
        except subprocess.TimeoutExpired:
            status = -1
    row = {"name": run["name"], "source": run["source"], "status": status, "seconds": round(time.time() - began, 1)}
    if os.path.exists(out):
        with open(out) as f:
            row.update(json.load(f))
    if status != 0 or not os.path.exists(out):
        with open(log, errors="replace") as f:
            row["said"] = f.read()[-2000:] if status != -1 else "it ran for more than 90 s"
    return row


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("scripts")
    parser.add_argument("--prepare")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=6)
    args = parser.parse_args()
    if args.prepare:
        for run in prepare(args.scripts, os.path.abspath(args.prepare), args.only):
            print(json.dumps({**run, "pythonpath": environment(args.scripts)["PYTHONPATH"]}))
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runs = prepare(args.scripts, folder, args.only)
        hook = os.path.join(folder, "hook")
        os.mkdir(hook)
        with open(os.path.join(hook, "sitecustomize.py"), "w") as f:
            f.write(HOOK)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            rows = [pool.submit(measure, args.scripts, run, hook, args.steps) for run in runs]
            for row in concurrent.futures.as_completed(rows):
                print(json.dumps(row.result()), flush=True)
    return any(row.result()["status"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
