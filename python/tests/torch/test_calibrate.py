"""The parts of `ullage fit --calibrate` without a GPU: the driver's libraries and the allocator's history are stand-ins."""
from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
import types
import unittest
import uuid
from typing import Any
from unittest import mock

import torch
from fakehistory import RecordingCuda

from ullage._calibrate import driver, kernels, operators, run
from ullage._calibrate.history import MARK_BYTES, Recorder, Window, of_torch, windows

torch.set_num_threads(1)
IDENTITY = uuid.UUID(int=7)


def alloc(size: int, address: int) -> dict[str, Any]:
    return {"action": "alloc", "size": size, "addr": address}


def free(address: int) -> dict[str, Any]:
    return {"action": "free_completed", "size": 0, "addr": address}


MARK = [alloc(MARK_BYTES, 1), free(1)]


class Windows(unittest.TestCase):
    def test_what_lies_between_two_marks(self) -> None:
        trace = [alloc(100, 9), *MARK, alloc(512, 10), alloc(64, 11), free(11), free(9), *MARK, alloc(5, 12), *MARK, free(10), *MARK]
        found = windows(trace)
        self.assertEqual([w.events for w in found], [[512, 64, -2], []])
        self.assertEqual(found[0].kept(), [0])
        self.assertEqual(found[0].addresses, [10, 11])

    def test_an_address_that_is_used_again(self) -> None:
        window = windows([*MARK, alloc(64, 10), free(10), alloc(32, 10), *MARK])[0]
        self.assertEqual((window.events, window.kept()), ([64, -1, 32], [1]))

    def test_memory_that_ran_short_is_told(self) -> None:
        for event in ({"action": "segment_free", "size": 1, "addr": 5}, {"action": "oom", "size": 1}):
            self.assertTrue(windows([*MARK, event, *MARK])[0].emptied)

    def test_workspaces(self) -> None:
        for events, want in (([512], 0), ([512, 64, -2], 64), ([512, 64], -1), ([512, 64, -2, 32, -3], -1), ([64, -1, 512], -1), ([], -1)):
            self.assertEqual(kernels.workspace(Window(events=events, addresses=[0] * len(events))), want, events)


class Recording(unittest.TestCase):
    def recorder(self, *traces: list[dict[str, Any]]) -> Recorder:
        reads = list(traces)
        return Recorder(lambda: None, lambda: reads.pop(0), lambda: None)

    def test_windows_reach_their_receivers(self) -> None:
        got: list[Any] = []
        recorder = self.recorder([*MARK, alloc(8, 2), *MARK, *MARK, alloc(9, 3), *MARK])
        for name in "ab":
            recorder.run(lambda: name, lambda result: lambda window: got.append((result, window.events)))
        recorder.flush()
        self.assertEqual(got, [("a", [8]), ("b", [9])])

    def test_a_case_that_fails_takes_its_own_window(self) -> None:
        got: list[Any] = []
        recorder = self.recorder([*MARK, alloc(8, 2), *MARK, *MARK, alloc(9, 3), *MARK])
        with self.assertRaises(RuntimeError):
            recorder.run(mock.Mock(side_effect=RuntimeError), lambda result: got.append)
        recorder.run(lambda: None, lambda result: lambda window: got.append(window.events))
        recorder.flush()
        self.assertEqual(got, [[9]])

    def test_marks_that_are_lost_are_counted_and_nothing_is_said(self) -> None:
        recorder = self.recorder([*MARK, alloc(8, 2), *MARK])
        for _ in range(2):
            recorder.run(lambda: None, lambda result: lambda window: self.fail("no window is sure"))
        recorder.flush()
        self.assertEqual(recorder.lost, 2)

    def test_a_case_that_was_short_of_memory_says_nothing(self) -> None:
        recorder = self.recorder([*MARK, alloc(8, 2), {"action": "segment_free", "size": 1, "addr": 5}, *MARK])
        recorder.run(lambda: None, lambda result: lambda window: self.fail("cuDNN took what there was room for"))
        recorder.flush()


class Kernels(unittest.TestCase):
    """Operators of the CPU in the place of the card's."""

    def setUp(self) -> None:
        self.rows: list[dict[str, Any]] = []
        gpu = RecordingCuda(total_bytes=1 << 34)
        for patch in (
            mock.patch.object(kernels, "say", lambda **row: self.rows.append(row)), mock.patch.object(operators, "DEVICE", "cpu"), gpu,
            mock.patch.object(torch.cuda, "memory_reserved", lambda: 0),
            mock.patch.object(torch.cuda, "get_device_capability", lambda: (9, 0)),
        ):
            patch.__enter__()
            self.addCleanup(patch.__exit__, None, None, None)
        self.recorder = of_torch("cpu")

    def test_a_call_is_told_with_its_form_and_its_results(self) -> None:
        with kernels.Watch(self.recorder):
            values, _ = torch.rand(100).sort()
            values + 1
        self.recorder.flush()
        (row,) = self.rows
        self.assertEqual((row["e"], row["term"], row["op"]), ("call", "sorting", "aten.sort.default"))
        self.assertEqual(row["in"], [["float32", [100], None, "cpu"]])
        sizes = [e for e in row["events"] if e > 0]
        self.assertEqual(sorted(sizes[i] for i in row["results"]), [400, 800])

    def test_backward_passes_are_seen(self) -> None:
        with kernels.Watch(self.recorder):
            operators._layer_norm(torch, torch.float32, 8, 16)
        self.recorder.flush()
        (row,) = self.rows
        self.assertEqual((row["term"], row["op"]), ("temporary", "aten.native_layer_norm_backward.default"))

    def test_a_case_that_cannot_run_is_counted_and_the_others_go_on(self) -> None:
        def cases(_: Any) -> Any:
            yield mock.Mock(side_effect=RuntimeError("no kernel image is available"))
            yield lambda: torch.rand(50).sort()

        with mock.patch.object(operators, "cases", cases):
            kernels.other_operators(self.recorder, until=1e12)
        self.assertEqual([r["e"] for r in self.rows], ["failed", "call"])

    def test_cases_stop_when_the_time_is_up(self) -> None:
        kernels.other_operators(self.recorder, until=0)
        self.assertEqual([r["e"] for r in self.rows], ["left"])
        kernels.convolutions(self.recorder, [(0, ["tf32", 0, 1, 8, 8, 8, 8, 1, 1, 1, 0, 1, 1])], room=1 << 30, until=0)
        self.assertEqual(self.rows[-1], {"e": "convolutions", "tried": 0, "of": 1})

    def test_convolutions_in_all_directions(self) -> None:
        cases = [
            ["tf32", 0, 2, 8, 14, 14, 16, 3, 3, 2, 1, 1, 1], ["bf16", 1, 2, 8, 14, 14, 8, 1, 3, 1, 1, 1, 8],
            ["f32", 0, 2, 8, 14, 14, 1 << 40, 3, 3, 2, 1, 1, 1],
        ]
        kernels.convolutions(self.recorder, list(enumerate(cases)), room=1 << 33, until=1e12)
        self.assertEqual([r["i"] for r in self.rows if r["e"] == "convolution"], [0, 1], "the third is larger than the card")
        self.assertEqual(self.rows[-1], {"e": "convolutions", "tried": 3, "of": 3})

    def test_all_cases_are_of_operators_that_are_looked_at(self) -> None:
        self.assertGreater(len(list(operators.cases(torch))), 150)
        self.assertEqual(set(operators.GROUPS.values()), {"attention", "sorting", "reduction", "temporary", "recurrent"})


def fill(pointer: Any, value: Any) -> None:
    """Writes through what ctypes.byref returned."""
    target = pointer._obj
    if isinstance(target, ctypes.Array):
        target[:] = list(value)
    else:
        target.value = value


class FakeLibcuda:
    """A driver with cards of 80 GB."""

    def __init__(self, cards: int = 1, status: int = 0) -> None:
        self.cards, self.status = cards, status

    def cuInit(self, _: int) -> int:
        return self.status

    def cuGetErrorName(self, status: int, text: Any) -> int:
        fill(text, b"CUDA_ERROR_NO_DEVICE")
        return 0

    def cuDriverGetVersion(self, n: Any) -> int:
        fill(n, 13000)
        return 0

    def cuDeviceGetCount(self, n: Any) -> int:
        fill(n, self.cards)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:
        fill(device, index)
        return 0

    def cuDeviceGetName(self, name: Any, size: int, device: Any) -> int:
        name.value = b"NVIDIA A100"
        return 0

    def cuDeviceTotalMem_v2(self, total: Any, device: Any) -> int:
        fill(total, 80 << 30)
        return 0

    def cuDeviceGetUuid_v2(self, identity: Any, device: Any) -> int:
        fill(identity, IDENTITY.bytes)
        return 0

    def cuDeviceGetAttribute(self, n: Any, attribute: int, device: Any) -> int:
        fill(n, {75: 8, 76: 0, 16: 108, 39: 2048, 38: 40 << 20, 97: 166912}[attribute])
        return 0


class FakeNVML:
    """An NVML that knows one device by its name, and processes of it."""

    def __init__(self, prefix: str = "GPU-", processes: Any = ()) -> None:
        self.identity, self.found = prefix + str(IDENTITY), list(processes)

    def nvmlInit_v2(self) -> int:
        return 0

    def nvmlDeviceGetHandleByUUID(self, identity: bytes, handle: Any) -> int:
        return 0 if identity.decode() == self.identity else 6

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.total, memory._obj.used = 81 << 30, 1 << 30
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, found: Any) -> int:
        for i, (pid, used) in enumerate(self.found):
            found[i].pid, found[i].used = pid, used
        fill(count, len(self.found))
        return 0

    def nvmlSystemGetDriverVersion(self, text: Any, size: int) -> int:
        text.value = b"580.159"
        return 0


def libraries(cuda: Any, nvml: Any) -> Any:
    return mock.patch.object(driver, "_load", lambda *names: cuda if "cuda" in names[0] else nvml)


class TheDriver(unittest.TestCase):
    def test_facts_of_a_card(self) -> None:
        with libraries(FakeLibcuda(2), FakeNVML()):
            card = driver.Driver().card(1)
        self.assertEqual((card.index, card.uuid, card.name, card.total_bytes), (1, "GPU-" + str(IDENTITY), "NVIDIA A100", 80 << 30))
        self.assertEqual((card.major, card.minor, card.multiprocessors, card.l2_bytes), (8, 0, 108, 40 << 20))

    def test_a_part_of_a_card_goes_by_its_own_name(self) -> None:
        with libraries(FakeLibcuda(), FakeNVML("MIG-")):
            self.assertEqual(driver.Driver().card(0).uuid, "MIG-" + str(IDENTITY))

    def test_why_there_is_no_gpu(self) -> None:
        for cuda, index, want in (
            (None, 0, "no NVIDIA driver"), (FakeLibcuda(status=100), 0, "CUDA_ERROR_NO_DEVICE"),
            (FakeLibcuda(2), 2, "there is no GPU 2: 2 can be seen"),
        ):
            with libraries(cuda, None), self.assertRaisesRegex(driver.NoGPU, want):
                driver.Driver().card(index)

    def test_who_uses_it(self) -> None:
        unknown = (1 << 64) - 1
        for processes, want in (
            ([(os.getpid(), 500), (1, 70)], (500, 1 << 30, 1)), ([(os.getpid(), unknown)], (None, 1 << 30, 0)),
            ([(1, 70)], (None, 1 << 30, 1)), ([], (None, 1 << 30, 0)),
        ):
            with libraries(None, FakeNVML(processes=processes)):
                now = driver.usage(driver.NVML.load(), "GPU-" + str(IDENTITY))
            self.assertEqual((now.mine, now.device, now.others), want)
        self.assertEqual(driver.usage(None, "GPU-1"), driver.Usage(None, None, 0))


class Running(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def lines(self, code: str, seconds: float = 60) -> list[dict[str, Any]]:
        return run.Part(self.folder, "context", {}, "1", command=[sys.executable, "-c", code]).lines(seconds)

    def test_lines_between_what_libraries_print(self) -> None:
        self.assertEqual(self.lines("print('NCCL version 2'); print('{\"e\": \"torch\"}'); print('[1]')"), [{"e": "torch"}])

    def test_a_part_that_fails_keeps_its_lines_and_says_why(self) -> None:
        found = self.lines("print('{\"e\": \"torch\"}', flush=True); raise SystemExit('torch finds no GPU')")
        self.assertEqual(found, [{"e": "torch"}, {"e": "left", "what": "context", "why": "torch finds no GPU"}])

    def test_a_part_that_does_not_end_is_ended(self) -> None:
        found = self.lines("print('{\"e\": \"torch\"}', flush=True); import threading; threading.Event().wait()", seconds=0)
        self.assertEqual(found[-1], {"e": "left", "what": "context", "why": "it was not done after 0 seconds"})

    def test_a_part_begins_when_it_is_told(self) -> None:
        code = "print('{\"e\": \"kernels\", \"seconds\": ' + input() + '}')"
        part = run.Part(self.folder, "kernels", {}, "0", command=[sys.executable, "-c", code])
        self.assertEqual(part.so_far()[0], [])
        part.tell("1.5")
        self.assertEqual(part.lines(60), [{"e": "kernels", "seconds": 1.5}])
        ended = run.Part(self.folder, "kernels", {}, "1", command=[sys.executable, "-c", "pass"])
        ended._process.wait()
        ended.tell("2.5")
        self.assertEqual(ended.lines(60), [])

    def whole_run(self, mine: Any) -> tuple[list[str], list[str]]:
        """The kinds of lines, and what was done in order, with parts in place of the real ones, which only say who they are."""
        done: list[str] = []

        def part(folder: str, name: str, environ: dict[str, str], *arguments: str) -> Any:
            me = " ".join([name, *arguments[:1]])
            row = {"e": "process", "what": "init", "mine": mine} if name == "context" else {"e": name}
            done.append("start " + me)
            return types.SimpleNamespace(
                lines=lambda seconds: done.append("end " + me) or [row], so_far=lambda: ([row], False),
                tell=lambda line: done.append("tell " + me),
            )

        with open(os.path.join(self.folder, "config.json"), "w") as file:
            json.dump({"index": 0, "seconds": 45, "convolutions": []}, file)
        with libraries(FakeLibcuda(2), FakeNVML()), mock.patch.object(run, "Part", part), mock.patch.object(run, "say", lambda text: None), \
                mock.patch.dict(os.environ, {run.VARIABLE: self.folder}):
            self.assertEqual(run.main(), 0)
        rows = list(run.read_lines(os.path.join(self.folder, "measured.jsonl")))
        self.assertEqual((rows[0]["driver"], rows[0]["nvml_total_bytes"], rows[0]["total_bytes"]), ("580.159", 81 << 30, 80 << 30))
        self.assertNotIn("uuid", rows[0])
        return [r["e"] for r in rows], done

    def test_parts_run_beside_each_other_where_the_driver_tells_processes_apart(self) -> None:
        kinds, done = self.whole_run(mine=5)
        self.assertEqual(kinds, ["card", "process", "process", "nccl", "nccl", "kernels", "kernels", "kernels", "end"])
        self.assertEqual(done[:7], ["start kernels -1", "start kernels 0", "start kernels 1", "start context 1", "start context 2", "start nccl 0", "start nccl 1"])
        self.assertEqual(done[7:10], ["tell kernels -1", "tell kernels 0", "tell kernels 1"])
        self.assertEqual(done[10:14], ["end context 1", "end context 2", "end nccl 0", "end nccl 1"])

    def test_one_after_the_other_where_it_does_not(self) -> None:
        kinds, done = self.whole_run(mine=None)
        self.assertEqual(kinds, ["card", "process", "process", "nccl", "nccl", "kernels", "kernels", "kernels", "end"])
        self.assertEqual(done[3:11], ["start context 1", "end context 1", "start context 2", "end context 2", "start nccl 0", "start nccl 1", "end nccl 0", "end nccl 1"])
        self.assertEqual(done[11:14], ["tell kernels -1", "tell kernels 0", "tell kernels 1"])

    def test_without_a_gpu_there_is_a_problem_and_nothing_measured(self) -> None:
        with open(os.path.join(self.folder, "config.json"), "w") as file:
            json.dump({"index": 0, "seconds": 45, "convolutions": []}, file)
        with libraries(None, None), mock.patch.dict(os.environ, {run.VARIABLE: self.folder}):
            self.assertEqual(run.main(), 1)
        self.assertEqual(sorted(n.partition("-")[0] for n in os.listdir(self.folder)), ["config.json", "problem"])


if __name__ == "__main__":
    unittest.main()
