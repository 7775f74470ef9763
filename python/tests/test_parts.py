"""The companion's parts, each by itself."""
import contextlib
import gc
import importlib
import importlib.util
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types
import unittest
import weakref
import zipfile
from unittest import mock

from ullage._companion import dump, job, limits, start, watcher
from ullage._torch import api, oomtext

GIB = 1 << 30
PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def config(folder, **changes):
    values = dict(folder=folder, run="run-1-x", out=os.path.join(folder, "out"), job="train", history=100, at_exit=False, budgets=(), limit=0)
    return job.Config(**{**values, **changes})


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)


def a_torch(snapshot=None, devices=1, **cuda):
    """A torch of one device that has reserved a GiB, whose functions may be replaced."""
    torch = types.SimpleNamespace(__version__="2.11.0", _C=types.SimpleNamespace(_cuda_hasPrimaryContext=lambda d: d == 0))
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
        self.assertIn("512.00 MiB free", str(caught.exception))
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

    def test_an_error_is_not_held(self):
        """Its frames hold tensors."""

        class Held:
            pass

        def fails():
            held.append(weakref.ref(local := Held()))
            raise RuntimeError(f"CUDA error: out of memory at {local is None}")

        w, held = self.watcher(), []
        try:
            fails()
        except RuntimeError as e:
            w._on_uncaught(e)
        self.assertEqual(len(self.recordings()), 1)
        gc.collect()
        self.assertIsNone(held[0]())

    def test_an_error_that_was_recorded_as_a_failure_and_wrapped(self):
        w = self.watcher()
        w._on_failure(0, GIB, 8 * GIB, 0)
        e = ValueError("step 3")
        e.__cause__ = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})("CUDA out of memory. Tried")
        for _ in range(2):
            w._on_uncaught(e)
        self.assertEqual(len(self.recordings()), 1)
        with open(os.path.join(self.folder, "out", self.recordings()[0][:-7] + ".json")) as f:
            self.assertEqual(json.load(f)["message"], "OutOfMemoryError: CUDA out of memory. Tried")

    def test_an_error_on_its_way_up(self):
        """As in a child of multiprocessing, where the end is reached before the error is printed; and one that ended in sys.exit."""
        for wrap in (lambda: None, lambda: sys.exit(1)):
            shutil.rmtree(os.path.join(self.folder, "out"), ignore_errors=True)
            w = self.watcher()
            with self.assertRaises((RuntimeError, SystemExit)):
                try:
                    try:
                        raise RuntimeError("CUDA error: out of memory")
                    except RuntimeError:
                        wrap()
                        raise
                finally:
                    w._end()
            self.assertEqual(len(self.recordings()), 1)

    def test_request(self):
        w = self.watcher()
        w._safely(w._answer)
        for number in ("7-x", "8-y"):
            job.write_whole(os.path.join(self.folder, f"snap-{w.pid}.json"), json.dumps({"id": number}).encode())
            w._safely(w._answer)
            with open(os.path.join(self.folder, f"snapped-{w.pid}.json")) as f:
                answer = json.load(f)
            self.assertEqual((answer["id"], answer["error"]), (number, ""))
            self.assertIn(answer["recording"], self.recordings())
        self.assertEqual(self.problems(), "")

    def test_what_fails_is_told_in_words(self):
        w = self.watcher()
        with open(watcher.__file__, encoding="utf-8") as f:
            steps = set(re.findall(r"(?<=[( ])self\.(_\w+)(?=[,)]+)", " ".join(re.findall(r"for step in \(.*|_safely\(.*", f.read()))))
        self.assertEqual(steps, set(watcher._FAILED))
        disk = shutil._ntuple_diskusage
        with mock.patch.object(w, "_check_budgets"), mock.patch.object(shutil, "disk_usage", lambda _: disk(1 << 20, 0, 4 << 10)):
            w._safely(w._last_look)
        self.assertRegex(self.problems(), r"the last counters were not written: the disk of .* has 4.00 KiB free")

    def test_request_that_is_none(self):
        w = self.watcher()
        for text in (b"{", b"{}", b"[]"):
            job.write_whole(os.path.join(self.folder, f"snap-{w.pid}.json"), text)
            w._safely(w._answer)
            self.assertNotIn(f"snap-{w.pid}.json", os.listdir(self.folder))
        self.assertEqual(self.recordings(), [])

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
        self.assertEqual((len(tries), w.limits.in_force), (limits.TRIES, {}))

    def test_devices_to_limit(self):
        """Those of which the program has made a context, or has memory where torch does not tell of contexts."""
        fractions = {}
        several = dict(
            devices=4,
            set_per_process_memory_fraction=lambda fraction, device: fractions.update({device: fraction}),
            device=lambda index: contextlib.nullcontext(),
            memory_stats=lambda d: {"reserved_bytes.all.peak": GIB} if d == 3 else {},
        )
        for contexts, local, want in (
            ([], None, {}),
            ([2], None, {2: 0.25}),
            ([0, 2], None, {0: 0.25, 2: 0.25}),
            ([], "1", {1: 0.25}),
            ([2], "9", {2: 0.25}),
            (None, None, {3: 0.25}),
        ):
            with self.subTest(contexts=contexts, local=local), mock.patch.dict(os.environ, {} if local is None else {"LOCAL_RANK": local}):
                fractions.clear()
                torch = a_torch(**several)
                torch._C._cuda_hasPrimaryContext = lambda d: d in contexts
                if contexts is None:
                    del torch._C._cuda_hasPrimaryContext
                w = self.watcher(torch, limit=2 * GIB)
                w.begun_at = time.monotonic()
                w._limit()
                self.assertEqual(w._pause() == watcher.HURRY_SECONDS, local != "1")
                w._safely(w._look)
                self.assertEqual(fractions, want)
                self.assertEqual(w._pause() == watcher.HURRY_SECONDS, not want)
        w.begun_at -= watcher.HURRY_FOR_SECONDS
        w.limits.in_force.clear()
        self.assertEqual(w._pause(), watcher.TICK_SECONDS)

    def test_problems_are_limited(self):
        meeting = job.Meeting(self.folder)
        for i in range(100):
            meeting.problem(f"line {i // 2}\nand more " + "x" * 5000)
        lines = self.problems().splitlines()
        self.assertEqual(len(lines), job.MAX_PROBLEMS)
        self.assertLess(max(map(len, lines)), 600)

    def test_configuration(self):
        """The folder for recordings need not have a name that JSON can carry."""
        with open(os.path.join(self.folder, "config.json"), "w") as f:
            json.dump(dict(run="run-1-x", job="train", history=7, at_exit=True, budgets=[GIB], limit_bytes=0), f)
        with open(os.path.join(self.folder, "out"), "wb") as f:
            f.write(b"/data/caf\xe9")
        got = job.load(self.folder)
        self.assertEqual((got.folder, os.fsencode(got.out), got.history, got.at_exit, got.budgets), (self.folder, b"/data/caf\xe9", 7, True, (GIB,)))

    def test_a_run_that_is_over(self):
        meeting = job.Meeting(os.path.join(self.folder, "gone"))
        meeting.mark("cuda")
        meeting.problem("x")
        meeting.tell("a.json", {})
        meeting.forget("a.json")
        with self.assertRaises(OSError):
            job.load(os.path.join(self.folder, "gone"))


class Startup(Folder):
    """Processes of their own, with what `ullage run` puts in front."""

    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)
        self.run_folder, self.site = os.path.join(self.folder, "run"), os.path.join(self.folder, "run", "site")
        shutil.copytree(os.path.join(PYTHON, "src"), self.site, ignore=shutil.ignore_patterns("__pycache__"))
        for name in os.listdir(os.path.join(PYTHON, "inject")):
            if name.endswith(".py"):
                shutil.copy(os.path.join(PYTHON, "inject", name), self.site)
        self.write("run/config.json", "{}")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return os.path.dirname(path)

    def python(self, code, *path, options=()):
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environ.update(PYTHONPATH=os.pathsep.join(path), ULLAGE_RUN=self.run_folder, PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run([sys.executable, *options, "-c", code], env=environ, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_imports_nothing(self):
        """Start-up costs a process little, and no module of the standard library hides one of the program's."""
        code = "import sys\nprint(*sorted(sys.modules), sep='\\n')"
        new = set(self.python(code, self.site)) - set(self.python(code, self.folder))
        self.assertEqual(new, {"__future__", "sitecustomize", "ullage", "ullage._companion", "ullage._companion.start", "ullage_chain"})
        self.assertIn("reported", os.listdir(self.run_folder))

    def test_no_warning(self):
        self.assertEqual(self.python("print('ran')", self.site, options=("-W", "error", "-bb", "-X", "dev")), ["ran"])

    def test_run_is_over(self):
        os.unlink(os.path.join(self.run_folder, "config.json"))
        self.assertEqual(self.python("import sys; print(len(sys.meta_path))", self.site), self.python("import sys; print(len(sys.meta_path))", self.folder))
        self.assertNotIn("reported", os.listdir(self.run_folder))

    def test_torch_of_a_pth_file(self):
        """torch may be there before the companion."""
        other = self.write("other/torch/__init__.py", "from types import SimpleNamespace\ncuda = SimpleNamespace()\n")
        first = self.write("first/sitecustomize.py", "import sys\nsys.path.insert(0, %r)\nimport torch\ndel sys.modules['sitecustomize']\nsys.path.remove(%r)\nimport sitecustomize\n" % (os.path.dirname(other), os.path.join(self.folder, "first")))
        self.write("run/config.json", json.dumps(dict(run="r", job="j", history=0, at_exit=False, budgets=[], limit_bytes=0)))
        self.write("run/out", self.folder)
        self.python("", first, self.site)
        self.assertIn("torch", os.listdir(self.run_folder))

    def test_a_program_that_was_here_before(self):
        """A process that became another program by exec is not to be asked for a recording."""
        code = "import os, sys\nprint(os.path.exists(os.path.join(os.environ['ULLAGE_RUN'], 'proc-%d.json' % os.getpid())))"
        first = "import os, sys\nopen(os.path.join(os.environ['ULLAGE_RUN'], 'proc-%%d.json' %% os.getpid()), 'w').close()\nos.execv(sys.executable, [sys.executable, '-c', %r])" % code
        if os.name != "nt":  # which starts another process
            self.assertEqual(self.python(first, self.site), ["False"])

    def test_shadowed_sitecustomize(self):
        module = "print('one', __name__, __spec__.origin == __file__, __import__('sys').modules['sitecustomize'].__file__ == __file__)"
        again = "\nimport sys\nsys.path.remove(%r)\ndel sys.modules['sitecustomize']\nimport sitecustomize\n"
        self.write("folder/sitecustomize/only-a-folder.txt", "")
        for name, files, want in (
            ("none", {}, []),
            ("a module", {"a/sitecustomize.py": module}, ["one sitecustomize True True"]),
            ("a package", {"a/sitecustomize/__init__.py": module}, ["one sitecustomize True True"]),
            ("the first of two", {"a/sitecustomize.py": module, "b/sitecustomize.py": "print('two')"}, ["one sitecustomize True True"]),
            ("one that looks for the next", {"a/sitecustomize.py": module + again, "b/sitecustomize.py": "print('two')"}, ["one sitecustomize True True", "two"]),
            ("a package that looks for the next", {"a/sitecustomize/__init__.py": module + again, "b/sitecustomize.py": "print('two')"}, ["one sitecustomize True True", "two"]),
            ("one that imports itself again", {"a/sitecustomize.py": "print('x')\nimport sys\ndel sys.modules['sitecustomize']\nimport sitecustomize"}, ["x"]),
        ):
            with self.subTest(name):
                for sub in ("a", "b"):
                    shutil.rmtree(os.path.join(self.folder, sub), ignore_errors=True)
                for file, text in files.items():
                    self.write(file, text.replace("%r", repr(os.path.join(self.folder, "a"))))
                path = [os.path.join(self.folder, f) for f in ("folder", "a", "b")]
                self.assertEqual(self.python("", self.site, *path), want)

    def test_sitecustomize_in_a_zip(self):
        archive = os.path.join(self.folder, "tools.zip")
        with zipfile.ZipFile(archive, "w") as z:
            z.writestr("sitecustomize.py", "print('zipped')")
        self.assertEqual(self.python("", self.site, archive), ["zipped"])

    def test_sitecustomize_that_fails(self):
        a = self.write("a/sitecustomize.py", "raise ValueError('its own affair')")
        environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        said = [
            subprocess.run([sys.executable, "-c", "print('ran')"], env={**environ, "PYTHONPATH": path}, capture_output=True, text=True)
            for path in (a, self.site + os.pathsep + a)
        ]
        self.assertEqual([(s.returncode, s.stdout, s.stderr) for s in said], [(0, "ran\n", said[0].stderr)] * 2)
        self.assertIn("its own affair", said[0].stderr)


if __name__ == "__main__":
    unittest.main()
