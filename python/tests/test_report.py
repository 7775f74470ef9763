"""What a process tells the agent, and what it makes of the answers: with a torch and an agent that stand for the real ones."""
from __future__ import annotations

import http.server
import json
import os
import pickle
import random
import shutil
import socket
import socketserver
import struct
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from typing import Any, Callable, Optional

from ullage._torch import api

PYTHON = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GIB, MIB = 1 << 30, 1 << 20
UUID = "GPU-00000000-0000-0000-0000-000000000000"
# Begins every program.
HEAD = """
import os, sys, time
import torch
GIB = 1 << 30

def wait(there):
    end = time.monotonic() + 30
    while not there():
        if time.monotonic() > end:
            sys.exit("nothing came")
        time.sleep(0.002)

def limit():
    return round(torch._C.fractions.get(0, 1.0) * torch._C.total)

def fails(size):
    try:
        torch.cuda.alloc(size)
    except torch.OutOfMemoryError:
        return True
    return False
"""


class FakeAgent(socketserver.ThreadingMixIn, getattr(socketserver, "UnixStreamServer", socketserver.TCPServer)):  # type: ignore[misc]
    """Answers reports as it is told, and keeps them."""

    daemon_threads = True

    def __init__(self, path: str, answer: Callable[[int, dict[str, Any]], Optional[dict[str, Any]]]) -> None:
        self.answer, self.reports, self.pids, self.connections = answer, [], [], 0
        self.lock = threading.Lock()
        super().__init__(path, _Handler)
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeAgent

    def do_POST(self) -> None:
        report = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pid = struct.unpack("3i", self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        with self.server.lock:
            self.server.reports.append(report)
            self.server.pids.append(pid)
            number = len(self.server.reports)
        answer = self.server.answer(number, report)
        if answer is None:
            threading.Event().wait(60)  # hangs
        status = (answer or {}).pop("status", 200)
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: Any) -> None:
        pass


def advice(limit: Optional[int], epoch: int = 3, period_ms: int = 50) -> dict[str, Any]:
    limits = [] if limit is None else [{"device": UUID, "bytes": limit, "epoch": epoch}]
    return {"period_ms": period_ms, "limits": limits}


@unittest.skipUnless(hasattr(socket, "SO_PEERCRED"), "there is an agent on Linux only")
class Reports(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.socket = os.path.join(self.folder, "agent.sock")

    def agent(self, answer: Callable[[int, dict[str, Any]], Optional[dict[str, Any]]]) -> FakeAgent:
        agent = FakeAgent(self.socket, answer)
        self.addCleanup(agent.server_close)
        self.addCleanup(agent.shutdown)
        return agent

    def run_program(self, text: str, lease: Optional[int] = 8 * GIB, **environ: str) -> str:
        """Runs a program to its end; returns what it printed. Anything on standard error is a failure."""
        self.configure(lease)
        path = os.pathsep.join(os.path.join(PYTHON, p) for p in ("inject", "src", os.path.join("tests", "fake")))
        recording = os.path.join(self.folder, "any.pickle")
        with open(recording, "wb") as f:
            pickle.dump({"segments": [], "device_traces": [[]]}, f)
        env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "ULLAGE_RUN": self.folder, "FAKE_RECORDING": recording, **environ}
        done = subprocess.run([sys.executable, "-c", HEAD + textwrap.dedent(text)], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def configure(self, lease: Optional[int]) -> None:
        of_lease = lease and dict(id=1, epoch=3, memory_bytes=lease, context_bytes=600 * MIB)
        with open(os.path.join(self.folder, "config.json"), "w") as f:
            json.dump(dict(run="r", job="train", history=0, at_exit=False, budgets=[], limit_bytes=0, socket=self.socket, lease=of_lease), f)
        with open(os.path.join(self.folder, "out"), "w") as f:
            f.write(os.path.join(self.folder, "recordings"))

    def problems(self) -> str:
        try:
            with open(os.path.join(self.folder, "problems")) as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def test_what_is_told(self) -> None:
        agent = self.agent(lambda n, r: advice(None))
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.3)", RANK="5", LOCAL_RANK="0")
        last = agent.reports[-1]
        self.assertEqual((last["job"], last["rank"], last["local_rank"]), ("train", 5, 0))
        self.assertNotIn("step", last)
        (device,) = last["devices"]
        self.assertEqual((device["device"], device["allocated_bytes"], device["reserved_bytes"]), (UUID, GIB, GIB))
        self.assertEqual(device["limit_bytes"], 8 * GIB - 600 * MIB)
        self.assertGreater(len(agent.reports), 1)
        self.assertEqual(agent.connections, 1)

    def test_the_limit_before_the_first_allocation_is_what_the_lease_leaves(self) -> None:
        self.agent(lambda n, r: advice(None))
        out = self.run_program("torch.cuda._lazy_init(); print(limit()); print(fails(8 * GIB), fails(7 * GIB))")
        self.assertEqual(out.split(), [str(8 * GIB - 600 * MIB), "True", "False"])

    def test_advice_is_kept(self) -> None:
        self.agent(lambda n, r: advice(2 * GIB if n < 4 else 3 * GIB))
        out = self.run_program("""
            torch.cuda._lazy_init()
            wait(lambda: limit() == 2 * GIB)
            print(fails(2 * GIB + 1))
            wait(lambda: limit() == 3 * GIB)
            print(fails(2 * GIB + 1))
        """)
        self.assertEqual(out.split(), ["True", "False"])

    def test_advice_of_an_older_lease_is_none(self) -> None:
        agent = self.agent(lambda n, r: advice(GIB, epoch=2) if n < 3 else advice(2 * GIB, epoch=4) if n < 5 else advice(GIB, epoch=3))
        out = self.run_program("""
            seen = set()
            torch.cuda._lazy_init()
            end = time.monotonic() + 0.6
            while time.monotonic() < end:
                seen.add(limit() >> 20)
                time.sleep(0.005)
            print(sorted(seen))
        """)
        self.assertEqual(json.loads(out), [2 << 10, (8 << 10) - 600])
        self.assertGreater(len(agent.reports), 5)

    def test_what_the_program_sets_itself(self) -> None:
        """Less than the lease leaves is its own affair; more is not."""
        self.agent(lambda n, r: advice(4 * GIB))
        out = self.run_program("""
            torch.cuda._lazy_init()
            wait(lambda: limit() == 4 * GIB)
            torch.cuda.set_per_process_memory_fraction(1 / 16, 0)
            time.sleep(0.3)
            print(limit() >> 30)
            torch.cuda.set_per_process_memory_fraction(1.0, 0)
            wait(lambda: limit() == 4 * GIB)
        """)
        self.assertEqual(out.split(), ["1"])

    def test_an_agent_that_goes_leaves_the_limit(self) -> None:
        def answer(n: int, report: dict[str, Any]) -> dict[str, Any]:
            if n == 2:
                os.unlink(self.socket)
            return advice(2 * GIB) if n < 3 else {"status": 503, "error": {"code": "unready", "message": "begins"}}

        self.agent(answer)
        out = self.run_program("""
            torch.cuda._lazy_init()
            wait(lambda: limit() == 2 * GIB)
            time.sleep(0.4)
            print(limit() >> 30, fails(2 * GIB + 1))
        """)
        self.assertEqual((out.split(), self.problems()), (["2", "True"], ""))

    def test_no_agent_at_all(self) -> None:
        out = self.run_program("torch.cuda._lazy_init(); print(fails(8 * GIB), fails(GIB)); time.sleep(0.1)")
        self.assertEqual((out.split(), self.problems()), (["True", "False"], ""))

    def test_a_refusal_is_said_once(self) -> None:
        self.agent(lambda n, r: {"status": 403, "error": {"code": "forbidden", "message": "not you"}})
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.2)", lease=None)
        self.assertEqual(self.problems(), "")  # nobody asked for reports
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.2)")
        self.assertRegex(self.problems(), r"^process \d+: the agent takes no report: not you\n$")

    def test_nonsense_is_no_advice(self) -> None:
        answers = [{"period_ms": "soon"}, {"limits": [{"device": UUID}], "period_ms": 50}, {"limits": 7, "period_ms": 50}]
        self.agent(lambda n, r: dict(answers[n % 3]))
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.3)")
        self.assertEqual(self.problems(), "")

    def test_a_silent_agent_keeps_nobody(self) -> None:
        self.agent(lambda n, r: None)
        out = self.run_program("torch.cuda.alloc(GIB); time.sleep(0.1); print(limit() >> 20)")
        self.assertEqual(out.split(), [str((8 << 10) - 600)])

    def test_the_error_that_ends_a_program_is_told(self) -> None:
        """It comes after the last report of those that come by the clock."""
        first = os.path.join(self.folder, "first")

        def answer(n: int, report: dict[str, Any]) -> dict[str, Any]:
            open(first, "w").close()
            return advice(None, period_ms=60_000)

        agent = self.agent(answer)
        self.run_program(f"""
            torch.cuda.alloc(GIB)
            wait(lambda: os.path.exists({first!r}))
            assert fails(8 * GIB)
        """)
        self.assertEqual([r["devices"][0]["ooms"] for r in agent.reports], [0, 1])

    def test_without_cuda_there_is_no_report(self) -> None:
        agent = self.agent(lambda n, r: advice(None))
        self.run_program("import threading; print(threading.active_count())")
        self.assertEqual((agent.connections, self.problems()), (0, ""))

    def test_a_forked_child_reports_for_itself(self) -> None:
        agent = self.agent(lambda n, r: advice(None))
        out = self.run_program("""
            child = os.fork()
            if child == 0:
                torch.cuda.alloc(GIB)
                time.sleep(0.3)
                os._exit(0)
            torch.cuda.alloc(2 * GIB)
            time.sleep(0.1)
            later = os.fork()  # can't use CUDA any more, and has none of its parent's threads
            if later == 0:
                time.sleep(0.3)
                os._exit(0)
            os.waitpid(child, 0)
            os.waitpid(later, 0)
            print(os.getpid(), child)
        """, PYTHONWARNINGS="ignore::DeprecationWarning")  # Python's own, of threads and fork
        told = {pid: r["devices"][0]["reserved_bytes"] for pid, r in zip(agent.pids, agent.reports)}
        parent, child = map(int, out.split())
        self.assertEqual(told, {parent: 2 * GIB, child: GIB})

    def test_a_device_without_a_name_is_not_told(self) -> None:
        agent = self.agent(lambda n, r: advice(None))
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.2)", FAKE_TORCH="2.1.2", CUDA_VISIBLE_DEVICES="0")
        self.assertEqual({len(r["devices"]) for r in agent.reports}, {0})
        before = len(agent.reports)
        self.run_program("torch.cuda.alloc(GIB); time.sleep(0.2)", FAKE_TORCH="2.1.2", CUDA_VISIBLE_DEVICES=UUID)
        self.assertEqual({d["device"] for r in agent.reports[before:] for d in r["devices"]}, {UUID})

    def test_a_recording_says_whose_the_limit_was(self) -> None:
        self.agent(lambda n, r: advice(2 * GIB))
        self.run_program("torch.cuda._lazy_init(); wait(lambda: limit() == 2 * GIB); time.sleep(0.1); torch.cuda.alloc(GIB); print(fails(2 * GIB))")
        folder = os.path.join(self.folder, "recordings")
        (name,) = [n for n in os.listdir(folder) if n.endswith("_oom.json")]
        with open(os.path.join(folder, name)) as f:
            beside = json.load(f)
        self.assertEqual(beside["lease"], {"id": 1, "memory_bytes": 8 * GIB})
        self.assertEqual([(d["limit_bytes"], d["limit_by"]) for d in beside["devices"]], [(2 * GIB, "lease")])

    def test_a_lease_of_less_than_a_context(self) -> None:
        out = self.run_program("torch.cuda._lazy_init(); print(limit(), fails(1))", lease=512 * MIB)
        self.assertEqual(out.split(), ["0", "True"])
        self.assertIn("the lease leaves nothing for PyTorch", self.problems())


class Fractions(unittest.TestCase):
    def test_a_limit_is_never_exceeded_by_a_byte_and_missed_by_none(self) -> None:
        """PyTorch makes bytes of the fraction by rounding down, as int() does."""
        numbers = random.Random(7)
        for _ in range(100_000):
            total = numbers.choice([150_109_880_320, 85_899_345_920, 24 << 30, numbers.randrange(1, 1 << 40)])
            limit = numbers.randrange(0, total)
            self.assertEqual(int(api.fraction_of(limit, total) * total), limit)
        self.assertEqual((api.fraction_of(5, 4), api.fraction_of(4, 4), api.fraction_of(-1, 4)), (1.0, 1.0, 0.0))


if __name__ == "__main__":
    unittest.main()
