"""What `ullage run` puts in a process, with a real torch: it waits, and initialises nothing."""
from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import torch

from ullage._torch import api

PYTHON = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = """
import json, multiprocessing, sys, threading
import torch
torch.set_num_threads(1)

def in_child(queue):
    queue.put(bool(torch.cuda.is_initialized()))

x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
context = multiprocessing.get_context("fork" if sys.platform != "win32" else "spawn")
queue = context.SimpleQueue()
child = context.Process(target=in_child, args=(queue,))
child.start()
child.join()
print(json.dumps({
    "initialized": torch.cuda.is_initialized(),
    "in_child": queue.get(),
    "child": child.exitcode,
    "threads": [t.name for t in threading.enumerate()],
    "waiting": [getattr(call[0], "__module__", "") for call in torch.cuda._queued_calls].count("ullage._companion.watcher"),
    "loader": type(torch.__spec__.loader).__name__,
    "finders": [type(f).__name__ for f in sys.meta_path].count("WaitForTorch"),
}))
"""


class Companion(unittest.TestCase):
    def test_waits(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        out = os.path.join(folder, "recordings")
        with open(os.path.join(folder, "config.json"), "w") as f:
            json.dump(dict(run="r", job="j", history=1000, at_exit=True, budgets=[1 << 30], limit_bytes=1 << 30), f)
        with open(os.path.join(folder, "out"), "w") as f:
            f.write(out)
        path = os.pathsep.join([os.path.join(PYTHON, "inject"), os.path.join(PYTHON, "src")])
        environ = {**os.environ, "PYTHONPATH": path, "ULLAGE_RUN": folder, "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            json.loads(done.stdout),
            {"initialized": False, "in_child": False, "child": 0, "threads": ["MainThread"], "waiting": 1, "loader": "SourceFileLoader", "finders": 0},
        )
        self.assertEqual({"reported", "torch"} & set(os.listdir(folder)), {"reported", "torch"})
        self.assertNotIn("cuda", os.listdir(folder))
        self.assertNotIn("problems", os.listdir(folder))
        self.assertFalse(os.path.exists(out))

    def test_what_it_asks_of_torch_is_there(self) -> None:
        """Of this release: a bounded history, the observer of failures, and the list of what is due at the first use of CUDA."""
        record = torch.cuda.memory._record_memory_history
        self.assertEqual(api.history_arguments(record, 7), {"enabled": "all", "context": "alloc", "stacks": "python", "max_entries": 7})
        implementation = inspect.unwrap(getattr(torch.cuda.memory, "_record_memory_history_impl", record))
        inspect.signature(implementation).bind(**api.history_arguments(record, 7) or {})
        self.assertTrue(callable(torch.cuda._lazy_call))
        if torch.version.cuda is not None:
            self.assertTrue(callable(torch._C._cuda_attach_out_of_memory_observer))
        self.assertEqual(api.used_devices(torch), {})


if __name__ == "__main__":
    unittest.main()
