"""The companion's parts, each by itself."""
import importlib
import importlib.util
import json
import os
import pickle
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

from ullage._companion import chain, dump, job, start, watcher
from ullage._torch import api, oomtext

GIB = 1 << 30


def config(folder, **changes):
    values = dict(folder=folder, run="run-1-x", out=os.path.join(folder, "out"), job="train", history=100, at_exit=False, budgets=(), limit=0)
    return job.Config(**{**values, **changes})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)


def a_torch(snapshot=None, devices=1, **cuda):
    """A torch of one device that has reserved a GiB, whose functions may be replaced."""
    torch = types.SimpleNamespace(__version__="2.11.0", _C=types.SimpleNamespace())
    torch.cuda = types.SimpleNamespace(
        device_count=lambda: devices,
        memory_stats=lambda d: {"reserved_bytes.all.current": GIB, "reserved_bytes.all.peak": GIB} if d == 0 else {},
        get_device_properties=lambda d: types.SimpleNamespace(name="GPU", total_memory=8 * GIB),
        mem_get_info=lambda d: (6 * GIB, 8 * GIB),
        is_initialized=lambda: True,
        memory=types.SimpleNamespace(_snapshot=lambda: {"segments": []} if snapshot is None else snapshot()),
    )
    for name, value in cuda.items():
        setattr(torch.cuda, name, value)
    return torch


class History(unittest.TestCase):
    def test_every_release(self):
        def v20(enabled: bool, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False, device=None):
            pass

        def v21(enabled="all", *args, **kwargs):
            pass

        def newest(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False, skip_actions=None):
            pass

        def no_stacks(enabled="all", max_entries=1):
            pass

        def unbounded(enabled="all"):
            pass

        modern = {"enabled": "all", "context": "alloc", "stacks": "python", "max_entries": 7}
        for function, want in (
            (v20, {"enabled": True, "record_context": True, "trace_alloc_max_entries": 7, "trace_alloc_record_context": True}),
            (v21, modern),
            (newest, modern),
            (no_stacks, {"enabled": "all", "max_entries": 7}),
            (unbounded, None),
        ):
            with self.subTest(function.__name__):
                got = api.history_arguments(function, 7)
                self.assertEqual(got, want)
                if got is not None:
                    function(**got)


class OomTexts(unittest.TestCase):
    def error(self, cls=RuntimeError, text="", cause=None, context=None):
        e = cls(text)
        e.__context__ = context
        if cause is not None:
            e.__cause__ = cause
        return e

    def test_messages(self):
        oom = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})
        below = type("OutOfMemoryError", (oom,), {"__module__": "torch.cuda"})
        other = type("OutOfMemoryError", (RuntimeError,), {"__module__": "pandas"})
        hidden = self.error(text="cuDNN error: CUDNN_STATUS_ALLOC_FAILED")
        for name, e, want in (
            ("torch's class", oom("x"), "OutOfMemoryError: x"),
            ("a class below it", below("x"), "OutOfMemoryError: x"),
            ("another library's class", other("x"), None),
            ("a library", hidden, "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
            ("raised from it", self.error(ValueError, "y", cause=hidden), "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
            ("raised while it was handled", self.error(KeyError, "y", context=hidden), "RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
            ("the text alone, of another kind", self.error(ValueError, "CUDA out of memory"), None),
            ("main memory", self.error(MemoryError, ""), None),
            ("nothing of the kind", self.error(text="shape mismatch"), None),
            ("none", None, None),
        ):
            with self.subTest(name):
                self.assertEqual(oomtext.message_of(e), want)

    def test_hostile(self):
        class Loud(RuntimeError):
            def __str__(self):
                raise ValueError("no text")

            def __eq__(self, other):
                raise ValueError("not comparable")

        self.assertIsNone(oomtext.message_of(Loud()))
        a, b = RuntimeError("a"), RuntimeError("b")
        a.__cause__, b.__cause__ = b, a  # a ring ends
        self.assertIsNone(oomtext.message_of(a))


class Ranks(unittest.TestCase):
    def test_launchers(self):
        for environ, rank, local in (
            ({}, None, None),
            ({"RANK": "3", "LOCAL_RANK": "1"}, 3, 1),
            ({"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}, 5, 0),
            ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None, None),
            ({"SLURM_PROCID": "9", "SLURM_LOCALID": "1", "SLURM_NTASKS": "16"}, 9, 1),
            ({"RANK": "-1"}, None, None),
            ({"RANK": "99999999999"}, None, None),
        ):
            with self.subTest(environ):
                self.assertEqual((job.rank(environ), job.local_rank(environ)), (rank, local))


class Dumps(Folder):
    def dumper(self, torch=None, **changes):
        return dump.Dumper(config(self.folder, **changes), torch or a_torch())

    def left(self):
        out = os.path.join(self.folder, "out")
        return sorted(os.listdir(out)) if os.path.isdir(out) else []

    def test_whole(self):
        path = self.dumper().dump("snap", {"limits": {0: 4 * GIB}})
        with open(path, "rb") as f:
            self.assertEqual(pickle.load(f), {"segments": []})
        with open(path[:-7] + ".json") as f:
            beside = json.load(f)
        self.assertEqual((beside["recording"], beside["reason"], beside["devices"][0]["limit_bytes"]), (os.path.basename(path), "snap", 4 * GIB))

    def test_two_in_one_second(self):
        d = self.dumper()
        self.assertNotEqual(d.dump("snap", {}), d.dump("snap", {}))

    def test_torch_fails(self):
        def broken():
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

        with self.assertRaises(RuntimeError):
            self.dumper(a_torch(broken)).dump("snap", {})
        self.assertEqual(self.left(), [])

    def test_too_large(self):
        with mock.patch.object(dump, "MAX_BYTES", 100_000), self.assertRaises(dump.Refused) as caught:
            self.dumper(a_torch(lambda: b"x" * 200_000)).dump("snap", {})
        self.assertIn("--history", str(caught.exception))
        self.assertEqual(self.left(), [])

    def test_too_many(self):
        d = self.dumper()
        with mock.patch.object(dump, "MAX_COUNT", 2):
            d.dump("snap", {})
            d.dump("snap", {})
            with self.assertRaises(dump.Refused):
                d.dump("snap", {})
        self.assertEqual(len([n for n in self.left() if n.endswith(".pickle")]), 2)

    def test_disk_fills_while_writing(self):
        free = iter([20 * GIB, 20 * GIB] + [GIB // 2] * 10)
        disk = shutil._ntuple_diskusage
        with mock.patch.object(shutil, "disk_usage", lambda _: disk(100 * GIB, 0, next(free))), self.assertRaises(dump.Refused) as caught:
            self.dumper(a_torch(lambda: [bytes([i]) * (8 << 20) for i in range(8)])).dump("snap", {})
        self.assertIn("512 MiB free", str(caught.exception))
        self.assertEqual(self.left(), [])

    def test_device_that_does_not_answer(self):
        def lost(device):
            raise RuntimeError("CUDA error: unspecified launch failure")

        path = self.dumper(a_torch(mem_get_info=lost)).dump("oom", {})
        with open(path[:-7] + ".json") as f:
            self.assertEqual(json.load(f)["devices"][0]["free_bytes"], None)


class Waiting(unittest.TestCase):
    def find(self, finder):
        self.addCleanup(lambda: finder in sys.meta_path and sys.meta_path.remove(finder))
        sys.meta_path.insert(0, finder)

    def importing(self, source, then):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "torch.py"), "w") as f:
            f.write(source)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        self.addCleanup(lambda: (sys.path.remove(folder), sys.modules.pop("torch", None)))
        finder = start.WaitForTorch(then)
        self.find(finder)
        return finder

    def test_called_once_after_import(self):
        seen = []
        finder = self.importing("ready = True", lambda torch: seen.append(torch.ready))
        self.assertIsNotNone(importlib.util.find_spec("torch"))  # a look is no import
        self.assertEqual(seen, [])
        torch = importlib.import_module("torch")
        self.assertEqual(seen, [True])
        self.assertNotIn(finder, sys.meta_path)
        self.assertEqual(type(torch.__spec__.loader).__name__, "SourceFileLoader")
        importlib.reload(torch)
        self.assertEqual(seen, [True])

    def test_import_that_fails(self):
        seen = []
        self.importing("raise OSError('libcudart.so')", seen.append)
        with self.assertRaises(OSError):
            importlib.import_module("torch")
        self.assertEqual(seen, [])

    def test_never_raises(self):
        def broken(torch):
            raise ValueError("no")

        self.importing("ready = True", broken)
        self.assertTrue(importlib.import_module("torch").ready)

    def test_no_torch(self):
        self.find(start.WaitForTorch(lambda torch: None))
        if importlib.util.find_spec("torch") is None:
            with self.assertRaises(ModuleNotFoundError):
                importlib.import_module("torch")


class Watching(Folder):
    def watcher(self, torch=None, **changes):
        os.makedirs(self.folder, exist_ok=True)
        w = watcher.Watcher(torch or a_torch(), config(self.folder, **changes), job.Meeting(self.folder))
        w.pid = os.getpid()
        return w

    def problems(self):
        try:
            with open(os.path.join(self.folder, "problems")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def recordings(self):
        out = os.path.join(self.folder, "out")
        return [n for n in os.listdir(out) if n.endswith(".pickle")] if os.path.isdir(out) else []

    def test_failures_are_limited(self):
        w, clock = self.watcher(), [1000.0]
        with mock.patch.object(watcher.time, "monotonic", lambda: clock[0]):
            for _ in range(30):
                w._on_failure(0, GIB, 8 * GIB, 0)
            self.assertEqual(len(self.recordings()), 1)
            for _ in range(30):
                clock[0] += watcher.FAILURES_SECONDS
                w._on_failure(0, GIB, 8 * GIB, 0)
        self.assertEqual(len(self.recordings()), watcher.FAILURES_MAX)
        self.assertEqual((w.failures, self.problems()), (60, ""))

    def test_observer_never_raises(self):
        w = self.watcher(a_torch(lambda: 1 / 0))
        w._on_failure(0, GIB, 8 * GIB, 0)
        w._on_failure("not", "numbers", None, None)
        self.assertIn("no recording was written (oom): ZeroDivisionError", self.problems())

    def test_message_is_added_to_the_recording_of_the_failure(self):
        w = self.watcher()
        w._on_failure(0, GIB, 8 * GIB, 0)
        w._on_uncaught(type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})("CUDA out of memory. Tried"))
        self.assertEqual(len(self.recordings()), 1)
        with open(os.path.join(self.folder, "out", self.recordings()[0][:-7] + ".json")) as f:
            self.assertEqual(json.load(f)["message"], "OutOfMemoryError: CUDA out of memory. Tried")

    def test_another_process_is_left_alone(self):
        w = self.watcher()
        w.pid = os.getpid() + 1
        w._on_failure(0, GIB, 8 * GIB, 0)
        w._on_uncaught(RuntimeError("CUDA error: out of memory"))
        w._end()
        self.assertEqual(self.recordings(), [])

    def test_limit_is_tried_a_few_times(self):
        tries = []

        def set_fraction(fraction, device):
            tries.append(device)
            raise RuntimeError("no")

        class Device:
            def __init__(self, index):
                pass

            def __enter__(self):
                pass

            def __exit__(self, *exc):
                pass

        w = self.watcher(a_torch(set_per_process_memory_fraction=set_fraction, device=Device), limit=GIB)
        for _ in range(9):
            w._safely(w._look)
        self.assertEqual((len(tries), w.limits), (watcher.LIMIT_TRIES, {}))

    def test_problems_are_limited(self):
        meeting = job.Meeting(self.folder)
        for i in range(100):
            meeting.problem(f"line {i}\nand more " + "x" * 5000)
        lines = self.problems().splitlines()
        self.assertEqual(len(lines), job.MAX_PROBLEMS)
        self.assertLess(max(map(len, lines)), 600)

    def test_a_run_that_is_over(self):
        meeting = job.Meeting(os.path.join(self.folder, "gone"))
        meeting.mark("cuda")
        meeting.problem("x")
        meeting.tell("a.json", {})
        meeting.forget("a.json")
        with self.assertRaises(OSError):
            job.load({job.VARIABLE: os.path.join(self.folder, "gone")})
        self.assertIsNone(job.load({}))


class Chain(Folder):
    def test_nothing_behind(self):
        with mock.patch.object(sys, "path", [self.folder]), mock.patch.object(chain, "_seen", set()):
            before = sys.modules.get("sitecustomize")
            chain.run_shadowed(os.path.join(self.folder, "sitecustomize.py"))
            self.assertIs(sys.modules.get("sitecustomize"), before)


if __name__ == "__main__":
    unittest.main()
