"""Runs small programs as `ullage fit` does: a process of their own, with a GPU that is not there, and its trace read back."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import textwrap

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
H200 = {"name": "NVIDIA H200", "total_bytes": 150109880320, "major": 9, "minor": 0, "multiprocessors": 132}
IS_OLD = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2]) < (2, 10)


class Run:
    """What a program did: its output, its status, its trace, and what kept it from being traced."""

    def __init__(self, program, config=None):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
                json.dump({"device": H200, **(config or {})}, f)
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write(textwrap.dedent(program))
            done = subprocess.run([sys.executable, path], env=environment(folder), cwd=folder, capture_output=True, text=True, timeout=600)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            self.left = sorted(name for name in os.listdir(folder) if name in ("reported", "torch"))
            self.problem = next((_json(name) for name in glob.glob(os.path.join(folder, "problem-*.json"))), None)
            traces = glob.glob(os.path.join(folder, "trace-*.jsonl"))
            self.lines = [line for name in traces for line in read_lines(name)]

    def of(self, kind):
        """The trace's lines of one kind."""
        return [line for line in self.lines if line["e"] == kind]

    @property
    def end(self):
        return self.of("end")[-1]

    def ops(self):
        """Each operator's line with its signature in place of the number, in order."""
        signatures = {s["id"]: s for s in self.of("sig")}
        return [{**op, "sig": signatures[op["sig"]]} for op in self.of("op")]

    def named(self, name):
        """The lines of one operator."""
        return [op for op in self.ops() if op["sig"]["op"] == name]

    def said(self):
        """The program's lines of output that are JSON, as one dictionary."""
        return said_in(self.out)


def environment(folder, **more):
    """The environment of a process that is traced into a folder."""
    paths = [os.path.join(ROOT, "inject"), os.path.join(ROOT, "src")]
    return {**os.environ, "ULLAGE_FIT": folder, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", **more}


def said_in(out):
    """The lines of a program's output that are JSON, as one dictionary."""
    said = {}
    for line in out.splitlines():
        if line.startswith("{"):
            said.update(json.loads(line))
    return said


def _json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def read_lines(path):
    """The values of a file of JSON lines."""
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def live_bytes(lines):
    """The bytes that live after each event that changes them, by replaying births and deaths."""
    live, total, history = {}, 0, []
    for line in lines:
        if line["e"] == "op":
            for storage in line.get("new", ()):
                assert storage[0] not in live
                live[storage[0]] = storage[1]
                total += storage[1]
        elif line["e"] == "free":
            total -= live.pop(line["id"])
        history.append(total)
    return history
