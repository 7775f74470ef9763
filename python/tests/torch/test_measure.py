"""measure() on a GPU of main memory: what is counted, who is named, and what blocks within blocks see."""
import asyncio
import json
import re
import tempfile
import threading
import unittest
from unittest import mock

import torch
from fakecuda import FakeCuda, OutOfMemoryError
from fakehistory import RecordingCuda

import ullage
from ullage._companion import job
from ullage._companion.watcher import Watcher
from ullage._measure import events, sites
from ullage._measure.result import Measurement
from ullage._torch import api

torch.set_num_threads(1)
MIB = 1 << 20


def mib(n):
    return torch.empty(n * MIB, dtype=torch.uint8)


class Counting(unittest.TestCase):
    def test_allocated_freed_kept_and_peak(self):
        with RecordingCuda():
            old = mib(8)
            with ullage.measure("work") as m:
                a = mib(4)
                b = mib(2)
                del a, old
                c = mib(1)
            use = m[0]
            self.assertEqual((use.before_bytes, use.after_bytes), (8 * MIB, 3 * MIB))
            self.assertEqual((use.allocated_bytes, use.freed_bytes, use.kept_bytes), (7 * MIB, 12 * MIB, 3 * MIB))
            self.assertEqual((use.peak_bytes, use.rise_bytes, use.change_bytes), (14 * MIB, 6 * MIB, -5 * MIB))
            self.assertEqual((m.peak_bytes, m.change_bytes, m.error), (14 * MIB, -5 * MIB, None))
            del b, c

    def test_sites_of_what_was_kept_and_of_the_peak(self):
        with RecordingCuda():
            before = mib(16)
            with ullage.measure() as m:
                with torch.no_grad():
                    big = mib(5) + 1
                    kept = [mib(1) for _ in range(3)]
                del big
            self.assertEqual([(s.size_bytes, s.blocks) for s in m[0].kept], [(3 * MIB, 3)])
            self.assertRegex(m[0].kept[0].place, r"test_measure.py:\d+ mib$")
            self.assertEqual(m[0].before_at_peak_bytes, 16 * MIB)
            self.assertEqual(sum(s.size_bytes for s in m[0].at_peak), 10 * MIB)
            self.assertTrue(any("test_sites_of" in s.place for s in m[0].at_peak), m[0].at_peak)
            del before, kept

    def test_without_sites_counters_alone(self):
        with RecordingCuda() as gpu:
            with ullage.measure(sites=False) as m:
                x = mib(2)
            self.assertEqual((m[0].change_bytes, m[0].peak_bytes, m[0].kept, m[0].kept_bytes), (2 * MIB, 2 * MIB, None, None))
            self.assertEqual(gpu.switched, [])
            del x

    def test_a_training_step(self):
        with FakeCuda() as gpu:
            model = torch.nn.Linear(512, 512)
            with ullage.measure(sites=False) as m:
                model(torch.ones(256, 512)).sum().backward()
            self.assertEqual(m[0].peak_bytes, gpu.peak_allocated_bytes)
            self.assertEqual(m[0].change_bytes, 512 * 512 * 4 + 512 * 4)  # the gradients

    def test_before_cuda_is_used(self):
        with ullage.measure() as m:
            pass
        self.assertEqual((m.devices, m.peak_bytes, str(m)), ((), 0, "block: no memory of a CUDA device was used"))
        self.assertFalse(torch.cuda.is_initialized())


class Nesting(unittest.TestCase):
    def test_an_inner_block_takes_no_peak_from_the_outer(self):
        with FakeCuda():
            with ullage.measure(sites=False) as outer:
                x = mib(9)
                del x
                with ullage.measure(sites=False) as inner:
                    y = mib(3)
                with ullage.measure(sites=False) as later:
                    pass
            self.assertEqual((outer.peak_bytes, inner.peak_bytes, later.peak_bytes), (9 * MIB, 3 * MIB, 3 * MIB))
            del y

    def test_one_object_within_itself(self):
        with FakeCuda():
            m = ullage.measure(sites=False)
            with m as outer:
                x = mib(1)
                with m as inner:
                    y = mib(2)
            self.assertEqual((outer.change_bytes, inner.change_bytes), (3 * MIB, 2 * MIB))
            del x, y

    def test_two_threads(self):
        with FakeCuda():
            m, begun, ended = ullage.measure(sites=False), threading.Event(), threading.Event()
            results = []

            def other():
                with m as result:
                    begun.set()
                    ended.wait(10)
                results.append(result)

            thread = threading.Thread(target=other)
            thread.start()
            begun.wait(10)
            with m as mine:
                x = mib(4)
                del x
            ended.set()
            thread.join()
            self.assertEqual((mine.peak_bytes, results[0].peak_bytes), (4 * MIB, 4 * MIB))


    def test_tasks_that_take_turns_in_one_thread(self):
        with FakeCuda():
            m, kept = ullage.measure(sites=False), []

            async def work(name, begun, other_has_begun):
                with m as result:
                    begun.set()
                    await other_has_begun.wait()
                    kept.append(mib(1))
                    inside = result.finished
                return name, inside, result.finished

            async def both():
                first, second = asyncio.Event(), asyncio.Event()
                return await asyncio.gather(work("first", first, second), work("second", second, first))

            self.assertEqual(asyncio.run(both()), [("first", False, True), ("second", False, True)])

    def test_a_block_that_ends_in_another_thread(self):
        with FakeCuda():
            m = ullage.measure(sites=False)
            result = m.__enter__()
            thread = threading.Thread(target=m.__exit__, args=(None, None, None))
            thread.start()
            thread.join()
            self.assertTrue(result.finished)
            with self.assertRaisesRegex(RuntimeError, "ends where none began, and 0 of this object are open"):
                m.__exit__(None, None, None)


class BesideUllageRun(unittest.TestCase):
    def test_a_budget_that_was_reached_counts_though_a_block_resets_the_peaks(self):
        with tempfile.TemporaryDirectory() as folder, RecordingCuda():
            config = job.Config(folder, "run", folder, "job", history=0, at_exit=False, budgets=(8 * MIB,), limit=0)
            watcher = Watcher(torch, config, job.Meeting(folder))
            with mock.patch.object(torch._C, "_cuda_attach_out_of_memory_observer", lambda call: None):
                watcher._observe()
            x = mib(9)
            del x
            torch.cuda.empty_cache()
            with ullage.measure(sites=False):
                pass
            with mock.patch.object(watcher, "_dump") as dumped:
                watcher._check_budgets(api.used_devices(torch))
                watcher._check_budgets(api.used_devices(torch))
            dumped.assert_called_once_with("budget")


class Recording(unittest.TestCase):
    def test_it_is_switched_off_by_who_switched_it_on(self):
        with RecordingCuda() as gpu:
            with ullage.measure():
                with ullage.measure():
                    pass
                self.assertEqual(gpu.switched, ["all"])
            self.assertEqual(gpu.switched, ["all", None])
            self.assertIsNone(gpu.entries)

    def test_one_that_is_on_is_used_and_left_on(self):
        with RecordingCuda() as gpu:
            gpu.record(max_entries=1000)
            earlier = [mib(1) for _ in range(5)]
            with ullage.measure() as m:
                x = mib(2)
                del earlier[:2]
            self.assertEqual((gpu.switched, gpu.entries), (["all"], 1000))
            self.assertEqual((m[0].kept_bytes, m[0].freed_bytes, m[0].missing), (2 * MIB, 2 * MIB, 0))
            del x

    def test_overlapping_blocks(self):
        with RecordingCuda() as gpu:
            first, second = ullage.measure(), ullage.measure()
            with first:
                second.__enter__()
                result = second._open[-1].result
                x = mib(1)
            self.assertIsNotNone(gpu.entries)
            second.__exit__(None, None, None)
            self.assertIsNone(gpu.entries)
            self.assertEqual(result[0].kept_bytes, MIB)
            del x

    def test_what_the_ring_lost_is_said(self):
        with RecordingCuda() as gpu:
            gpu.record(max_entries=4)
            with ullage.measure() as m:
                kept = [mib(1) for _ in range(10)]
            self.assertEqual((m[0].missing, m[0].kept_bytes, m[0].change_bytes), (6, 4 * MIB, 10 * MIB))
            self.assertIn("lacks 6 allocations", str(m))
            del kept

    def test_switched_off_within_the_block(self):
        with RecordingCuda() as gpu:
            with ullage.measure() as m:
                gpu.record(enabled=None)
            self.assertEqual((m.devices, gpu.switched), ((), ["all", None]))
            x = mib(1)
            with ullage.measure() as m:
                gpu.record(enabled=None)
            self.assertIsNone(m[0].kept)
            self.assertIn("switched off within", str(m))
            del x

    def test_a_back_end_that_records_nothing(self):
        refuses = mock.Mock(side_effect=RuntimeError("cudaMallocAsync does not yet\nmore"))
        with FakeCuda(), mock.patch.object(torch._C, "_cuda_isHistoryEnabled", lambda: False), \
                mock.patch.object(torch.cuda.memory, "_record_memory_history", refuses):
            with ullage.measure() as m:
                x = mib(1)
            self.assertEqual(m[0].change_bytes, MIB)
            self.assertIn("no sites: cudaMallocAsync does not yet", str(m))
            del x


class Ending(unittest.TestCase):
    def test_an_exception_passes_and_the_result_stands(self):
        with RecordingCuda(total_bytes=4 * MIB):
            with self.assertRaises(OutOfMemoryError):
                with ullage.measure("too much") as m:
                    x = mib(3)
                    mib(8)
            self.assertEqual((m.finished, m.error, m[0].failures, m[0].kept_bytes), (True, "OutOfMemoryError", 1, 3 * MIB))
            self.assertIn("too much (ended by OutOfMemoryError)", str(m))
            del x

    def test_a_decorated_function(self):
        seen = []

        @ullage.measure(sites=False, report=seen.append)
        def work(n):
            """Works."""
            return mib(n)

        self.assertIsNone(work.measured)
        with FakeCuda():
            x = work(2)
            y = work(3)
        self.assertEqual((work.__doc__, work.measured.change_bytes), ("Works.", 3 * MIB))
        self.assertEqual([m.change_bytes for m in seen], [2 * MIB, 3 * MIB])
        self.assertRegex(seen[0].name, "work$")
        del x, y

    def test_a_coroutine_is_measured_where_it_runs(self):
        @ullage.measure(sites=False)
        async def work():
            await asyncio.sleep(0)
            return mib(2)

        with FakeCuda():
            x = asyncio.run(work())
            self.assertEqual(work.measured.change_bytes, 2 * MIB)
            del x

    def test_what_it_cannot_measure_is_refused(self):
        with self.assertRaisesRegex(TypeError, "generator .*numbers"):
            @ullage.measure()
            def numbers():
                yield 1
        with self.assertRaisesRegex(TypeError, "with parentheses"):
            ullage.measure(lambda: None)
        with self.assertRaisesRegex(TypeError, "@classmethod goes above it"):
            ullage.measure()(classmethod(len))
        with self.assertRaisesRegex(TypeError, "decorate a method of it"):
            ullage.measure()(unittest.TestCase)

    def test_a_device_of_which_nothing_is_known(self):
        with FakeCuda():
            with ullage.measure(sites=False) as m:
                with self.assertRaisesRegex(KeyError, "device 0 was measured: the block has not ended yet"):
                    m[0]
                x = mib(1)
            with self.assertRaisesRegex(KeyError, "device 3 was measured: PyTorch's allocator has used cuda:0"):
                m[3]
            del x
        with self.assertRaisesRegex(KeyError, "has used no device"):
            Measurement(finished=True)[0]

    def test_in_words_and_for_json(self):
        with RecordingCuda():
            before = mib(3)
            with ullage.measure("a block") as m:
                self.assertEqual(str(m), "a block: still running")
                x = [mib(1) for _ in range(2)]
            text = re.sub(r"\S*test_measure.py:\d+", "FILE", str(m))
            self.assertEqual(text, "\n".join([
                "a block:",
                "  cuda:0  peak 5.00 MiB, 2.00 MiB above the 3.00 MiB at the beginning",
                "          allocated 2.00 MiB, freed 0 B, kept 2.00 MiB: +2.00 MiB",
                "          reserved 3.00 MiB before, 5.00 MiB after, at most 5.00 MiB",
                "    live at the peak:",
                "         3.00 MiB  from before",
                "         2.00 MiB  FILE mib, 2 blocks",
                "    kept:",
                "         2.00 MiB  FILE mib, 2 blocks"]))
            data = json.loads(json.dumps(m.as_dict()))
            device = data["devices"][0]
            self.assertEqual((data["name"], device["kept_bytes"], device["kept"][0]["blocks"]), ("a block", 2 * MIB, 2))
            del before, x


class Events(unittest.TestCase):
    def test_the_tail_of_a_trace(self):
        trace = [{"action": a} for a in "alloc free_requested alloc segment_alloc free_requested free_completed alloc snapshot".split()]
        self.assertEqual(events.tail(trace, 1, 0), (trace[6:], 0))
        self.assertEqual(events.tail(trace, 1, 1), (trace[4:], 0))
        self.assertEqual(events.tail(trace, 9, 9), (trace, 6))
        self.assertEqual(events.tail(trace, 0, 0), ([], 0))

    def test_frees_of_older_blocks_lower_the_level(self):
        trace = [
            {"action": "free_requested", "addr": 1, "size": 1000}, {"action": "alloc", "addr": 2, "size": 600},
            {"action": "free_completed", "addr": 1, "size": 1000}, {"action": "free_requested", "addr": 3, "size": 512},
            {"action": "alloc", "addr": 4, "size": 512},
        ]
        told = events.replay(trace, 4096, {2: 2048, 4: 512}, 0)
        self.assertEqual((told.before_at_peak_bytes, told.at_peak), (4096, ()))
        self.assertEqual(sum(s.size_bytes for s in told.kept), 2048 + 512)

    def test_whose_code(self):
        user = {"filename": "/home/u/train.py", "line": 7, "name": "step"}
        library = {"filename": "/v/lib/python3.12/site-packages/torch/nn/modules/linear.py", "line": 125, "name": "forward"}
        cpp = {"filename": "libtorch.so", "line": 0, "name": "at::empty"}
        self.assertEqual(sites.names([cpp, library, user]), ("/home/u/train.py:7 step", "linear.py:125 forward"))
        self.assertEqual(sites.names([library]), ("linear.py:125 forward", ""))
        self.assertEqual(sites.names([user, library]), ("/home/u/train.py:7 step", ""))
        self.assertEqual(sites.names([cpp]), (sites.NO_STACK, ""))
        cell = {"filename": "<ipython-input-3-abc>", "line": 2, "name": "<module>"}
        self.assertEqual(sites.names([library, cell])[0], "<ipython-input-3-abc>:2 <module>")


if __name__ == "__main__":
    unittest.main()
