"""watch() and step(): planted leaks are found with place and holder, and what only looks like one is not."""
import json
import math
import random
import unittest
import warnings

import torch
from fakecuda import FakeCuda
from fakehistory import RecordingCuda

import ullage
from ullage._leaks import series

torch.set_num_threads(1)
MIB = 1 << 20
LEVEL = 100 * MIB


def tensor(size=64 << 10):
    return torch.empty(size, dtype=torch.uint8)


def judged(levels, min_bytes=MIB):
    """The steps at which a level is judged to grow."""
    level, found = series.Level(), []
    for index, value in enumerate(levels):
        if level.add(int(value)) and level.trend(min_bytes):
            found.append(index)
    return found


class Levels(unittest.TestCase):
    def test_growth_of_any_pace_is_seen(self):
        self.assertEqual(judged(LEVEL + MIB * s for s in range(40))[0], 15)
        slow = judged(LEVEL + 512 * s for s in range(10_000))
        self.assertTrue(slow and 2048 < slow[0] < 6000, slow[:1])
        self.assertTrue(judged(LEVEL + MIB * (s // 10) for s in range(200)))

    def test_what_only_looks_like_it_is_not(self):
        still = random.Random(1)
        for name, levels in {
            "level": (LEVEL for _ in range(3000)),
            "a jump": (LEVEL + (500 * MIB if s > 40 else 0) for s in range(3000)),
            "short teeth": (LEVEL + MIB * (s % 7) for s in range(3000)),
            "a level reached": (LEVEL + MIB * min(s, 10) for s in range(3000)),
            "falling": (LEVEL * 40 - MIB * s for s in range(3000)),
            "batches of many sizes": (LEVEL + still.randrange(2) * 50 * MIB for _ in range(3000)),
        }.items():
            self.assertEqual(judged(levels), [], name)

    def test_a_run_of_any_length_takes_little_memory(self):
        level = series.Level()
        for s in range(100_000):
            level.add(s)
        self.assertLess(len(level.minima), series.MAX_STRETCHES)
        self.assertEqual(level.stride, 1 << math.ceil(math.log2(100_000 / (series.MAX_STRETCHES - 1))))
        self.assertEqual(level.minima[:2], [0, level.stride])

    def test_the_slope_bears_a_fifth_of_outliers(self):
        values = [3 * x for x in range(20)]
        for wrong in (2, 9, 13, 17):
            values[wrong] += 10_000
        slope, agreement = series.theil_sen(values)
        self.assertAlmostEqual(slope, 3, delta=0.01)
        self.assertGreater(agreement, 0.5)


class Watching(unittest.TestCase):
    def test_a_planted_leak_with_place_and_holder(self):
        with RecordingCuda() as gpu:
            gpu.record()
            watch, history = ullage.watch(), []
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for _ in range(400):
                    batch = tensor(4 * MIB)
                    history.append(tensor())
                    watch.step()
            self.assertEqual([w.category for w in caught], [ullage.GrowthWarning])
            growth = watch.found[0]
            self.assertIs(caught[0].message.growth, growth)
            self.assertEqual(caught[0].filename, __file__)
            self.assertEqual(growth.slope_bytes, 64 << 10)
            self.assertRegex(growth.sites[0].place, r"test_watch.py:\d+ tensor")
            self.assertIn("history[…]", growth.holders[0])
            self.assertEqual(growth.steps_left, growth.room_bytes // (64 << 10))
            self.assertRegex(str(growth), r"the memory of cuda:0 grows by 64.00 KiB per step, and has for \d+ of them")
            self.assertEqual(json.loads(json.dumps(growth.as_dict()))["slope_bytes"], 64 << 10)
            del batch, history

    def test_the_warning_names_the_programs_line_whoever_calls(self):
        for step in (ullage.step, lambda: ullage.step(), ullage.watch().step):
            ullage.watch(holders=False)
            with RecordingCuda(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                kept = []
                for _ in range(400):
                    kept.append(tensor())
                    step()
            self.assertEqual([w.filename for w in caught], [__file__])
            del kept

    def test_without_a_recording_the_holder_still_stands(self):
        with RecordingCuda():
            seen, kept = [], {}
            watch = ullage.watch(on_growth=seen.append)
            for i in range(400):
                kept[i] = tensor()
                ullage.step()
            self.assertEqual(seen, watch.found)
            self.assertEqual(seen[0].sites, ())
            self.assertIn("kept[…]", seen[0].holders[0])
            self.assertIn("hint: run it under `ullage run`", str(seen[0]))

    def test_a_healthy_loop_is_left_alone(self):
        with FakeCuda() as gpu:
            model = torch.nn.Linear(256, 256)
            optimizer = torch.optim.AdamW(model.parameters())
            watch = ullage.watch(on_growth=self.fail)
            for i in range(300):
                optimizer.zero_grad()
                loss = model(torch.ones(8 + i % 5 * 32, 256)).square().mean()
                loss.backward()
                optimizer.step()
                watch.step()
            self.assertEqual((watch.found, watch.notes, gpu.synchronized), ([], [], 0))

    def test_what_fills_up_and_stays_is_no_leak(self):
        with FakeCuda():
            watch, buffer = ullage.watch(on_growth=self.fail), []
            for i in range(500):
                if i < 70:
                    buffer.append(tensor())
                watch.step()
            self.assertEqual(watch.found, [])
            self.assertRegex("".join(watch.notes), "levelled off")

    def test_cycles_that_wait_for_the_collector_are_no_leak(self):
        with FakeCuda():
            watch = ullage.watch(on_growth=self.fail)
            import gc
            gc.disable()
            try:
                for _ in range(500):
                    node = {"memory": tensor()}
                    node["self"] = node
                    watch.step()
            finally:
                gc.enable()
            self.assertRegex(watch.notes[0], "went with Python's collector")
            self.assertLess(len(watch.notes), 6)
            del node

    def test_places_of_their_own(self):
        with FakeCuda():
            seen, kept = [], []
            watch = ullage.watch(on_growth=seen.append, holders=False)
            for _ in range(200):
                kept.append(tensor())
                watch.step("train")
                if len(kept) % 50 == 0:
                    watch.step("evaluation")
            self.assertEqual([g.name for g in seen], ["train"])

    def test_before_cuda_is_used(self):
        self.assertIsNone(ullage.watch().step())
        self.assertFalse(torch.cuda.is_initialized())


if __name__ == "__main__":
    unittest.main()
