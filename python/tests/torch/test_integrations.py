"""Callbacks in real trainings of the libraries, on a GPU that only counts; series to whatever logs; snapshot()."""
import contextlib
import glob
import importlib.util
import io
import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import torch
from fakecuda import FakeCuda
from fakehistory import RecordingCuda

import ullage
from ullage import integrations
from ullage._companion import dump
from ullage._torch import counters
from ullage.integrations.series import figures, sink_of

torch.set_num_threads(1)
MIB = 1 << 20
STEPS = 200


def has(name):
    return importlib.util.find_spec(name) is not None


class Counting(RecordingCuda):
    """Counts as it does for others, while the library trains on the CPU as it would without a GPU."""

    def _answers(self):
        kept = ("is_initialized", "device_count", "memory_stats", "memory_allocated", "mem_get_info", "is_current_stream_capturing")
        return {name: answer for name, answer in super()._answers().items() if name in kept}


class Leaky(torch.nn.Module):
    """Keeps its results."""

    def __init__(self):
        super().__init__()
        self.layer, self.kept = torch.nn.Linear(4, 4), []

    def forward(self, x, labels=None):
        result = self.layer(x)
        self.kept.append(torch.empty(64 << 10, dtype=torch.uint8))
        return result


def grown(watch):
    """What a watch found, in as many words as a test needs."""
    return [(g.name, round(g.slope_bytes), "kept[…]" in g.holders[0]) for g in watch.found]


class Log:
    def __init__(self):
        self.entries = []

    def log(self, values, step=None):
        self.entries.append((step, values))


class SeriesTo(unittest.TestCase):
    def test_any_function_with_the_names_of_ullage_run(self):
        with FakeCuda():
            x, log = torch.empty(MIB, dtype=torch.uint8), []
            self.assertTrue(integrations.Series(log.append).step())
            self.assertEqual(set(log[0]), {f"memory/cuda0/{name}" for name in counters.COUNTERS})
            self.assertEqual(log[0]["memory/cuda0/allocated_bytes"], MIB)
            del x

    def test_no_more_often_than_asked(self):
        with FakeCuda():
            x, log, now = torch.ones(1), Log(), [0.0]
            series = integrations.Series(log, every_seconds=10, every_steps=2, clock=lambda: now[0])
            for step in range(100):
                series.step(step)
                now[0] += 3
            self.assertEqual([step for step, _ in log.entries], list(range(0, 100, 4)))
            del x

    def test_before_cuda_is_used(self):
        log = []
        self.assertFalse(integrations.Series(log.append).step())
        self.assertEqual((log, figures()), ([], {}))
        self.assertFalse(torch.cuda.is_initialized())

    def test_what_takes_the_step_is_given_it(self):
        calls = []

        class Metrics:
            def log_metrics(self, metrics, step=None):
                calls.append(("metrics", metrics, step))

        class Wandb:
            def log(self, data, step=None, commit=None):
                calls.append(("wandb", data, step, commit))

        class Writer:
            def add_scalar(self, tag, value, step):
                calls.append(("scalar", tag, value, step))

        for target in (Metrics(), Wandb(), Writer(), Wandb().log):
            sink_of(target)({"a": 1.0}, 7)
        self.assertEqual(calls, [
            ("metrics", {"a": 1.0}, 7), ("wandb", {"a": 1.0}, None, False), ("scalar", "a", 1.0, 7), ("wandb", {"a": 1.0}, None, False)])
        with self.assertRaisesRegex(TypeError, "what is to log is 3, but has to be something with add_scalar"):
            integrations.Series(3)


class Importing(unittest.TestCase):
    def test_no_library_is_imported_with_the_package(self):
        libraries = ("torch", "transformers", "lightning", "pytorch_lightning", "accelerate", "tensorboard", "wandb")
        code = f"import sys, ullage, ullage.integrations; print([m for m in {libraries} if m in sys.modules])"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertEqual(done.stdout, "[]\n", done.stderr)
        self.assertLessEqual({"Series", "TransformersCallback"}, set(dir(integrations)))
        with self.assertRaises(AttributeError):
            integrations.Trainer

    def test_a_library_that_is_not_there_is_named(self):
        for callback, names in {
            "TransformersCallback": ["transformers"], "LightningCallback": ["lightning", "pytorch_lightning"], "AccelerateTracker": ["accelerate"],
        }.items():
            if any(map(has, names)):
                self.assertTrue(callable(getattr(integrations, callback)))
            else:
                with self.assertRaisesRegex(ModuleNotFoundError, names[0]):
                    getattr(integrations, callback)


if has("transformers") and has("accelerate"):
    class WithTransformers(unittest.TestCase):
        def train(self, folder, callback):
            from transformers import Trainer, TrainingArguments

            class Model(Leaky):
                def forward(self, x, labels):
                    result = super().forward(x)
                    return {"loss": (result - labels).square().mean(), "logits": result}

            data = [{"x": torch.ones(4), "labels": torch.zeros(4)} for _ in range(STEPS)]
            arguments = TrainingArguments(
                folder, per_device_train_batch_size=1, num_train_epochs=1, use_cpu=True, report_to=[], logging_steps=50, disable_tqdm=True,
                save_strategy="no", remove_unused_columns=False, dataloader_pin_memory=False)
            trainer = Trainer(Model(), arguments, train_dataset=data, callbacks=[callback])
            with contextlib.redirect_stdout(io.StringIO()):
                trainer.train()
            return trainer

        def test_a_leak_and_the_log_history(self):
            with tempfile.TemporaryDirectory() as folder, Counting(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                callback = integrations.TransformersCallback()
                trainer = self.train(folder, callback)
                self.assertEqual(grown(callback.watch), [("step", 64 << 10, True)])
                self.assertEqual(len([w for w in caught if w.category is ullage.GrowthWarning]), 1)
                figures = [entry["memory/cuda0/allocated_bytes"] for entry in trainer.state.log_history[:4]]
                self.assertEqual(len(figures), 4)
                self.assertGreaterEqual(figures[1] - figures[0], 50 * (64 << 10))

        def test_a_log_of_its_own(self):
            with tempfile.TemporaryDirectory() as folder, Counting():
                log = Log()
                watch = ullage.watch(on_growth=lambda g: None, holders=False)
                callback = integrations.TransformersCallback(log, watch=watch, every_seconds=0)
                trainer = self.train(folder, callback)
                self.assertEqual([step for step, _ in log.entries], list(range(1, STEPS + 1)))
                self.assertNotIn("memory/cuda0/allocated_bytes", trainer.state.log_history[0])


if has("lightning"):
    class WithLightning(unittest.TestCase):
        def test_a_leak_and_the_trainers_loggers(self):
            import lightning.pytorch as lightning
            from lightning.pytorch.loggers import CSVLogger

            class Model(lightning.LightningModule):
                def __init__(self):
                    super().__init__()
                    self.net = Leaky()

                def training_step(self, batch, index):
                    return self.net(batch).sum()

                def validation_step(self, batch, index):
                    self.net.layer(batch)

                def configure_optimizers(self):
                    return torch.optim.SGD(self.parameters(), lr=0.1)

            batches = torch.utils.data.DataLoader(torch.ones(STEPS, 4), batch_size=1)
            with tempfile.TemporaryDirectory() as folder, Counting():
                callback = integrations.LightningCallback(watch=ullage.watch(on_growth=lambda g: None), every_seconds=0)
                logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
                trainer = lightning.Trainer(
                    accelerator="cpu", max_epochs=1, logger=CSVLogger(folder, flush_logs_every_n_steps=1), callbacks=[callback],
                    log_every_n_steps=20, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    trainer.fit(Model(), batches, batches)
                self.assertEqual(grown(callback.watch), [("step", 64 << 10, True)])
                with open(glob.glob(f"{folder}/**/metrics.csv", recursive=True)[0], encoding="utf-8") as f:
                    rows = f.read().splitlines()
                self.assertIn("memory/cuda0/reserved_peak_bytes", rows[0])
                self.assertEqual(len(rows), 1 + STEPS // 20)


if has("accelerate"):
    class WithAccelerate(unittest.TestCase):
        def test_a_leak_and_a_log(self):
            from accelerate import Accelerator

            with Counting():
                log = Log()
                tracker = integrations.AccelerateTracker(log, watch=ullage.watch(on_growth=lambda g: None), every_seconds=0)
                accelerator = Accelerator(cpu=True, log_with=tracker)
                accelerator.init_trackers("run", config={"lr": 0.1})
                model, optimizer = accelerator.prepare(*(lambda m: (m, torch.optim.SGD(m.parameters(), lr=0.1)))(Leaky()))
                for step in range(STEPS):
                    optimizer.zero_grad()
                    loss = model(torch.ones(1, 4)).sum()
                    accelerator.backward(loss)
                    optimizer.step()
                    accelerator.log({"loss": loss.item()}, step=step)
                accelerator.end_training()
                self.assertEqual(grown(tracker.tracker), [("step", 64 << 10, True)])
                self.assertEqual([step for step, _ in log.entries], list(range(STEPS)))


if has("tensorboard"):
    class WithTensorBoard(unittest.TestCase):
        def test_a_series_that_can_be_read(self):
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
            from torch.utils.tensorboard import SummaryWriter

            with tempfile.TemporaryDirectory() as folder, Counting():
                kept = []
                with SummaryWriter(folder) as writer:
                    series = integrations.Series(writer, every_seconds=0)
                    for step in range(3):
                        kept.append(torch.empty(MIB, dtype=torch.uint8))
                        series.step(step)
                events = EventAccumulator(folder)
                events.Reload()
                scalars = [(e.step, e.value) for e in events.Scalars("memory/cuda0/allocated_bytes")]
                self.assertEqual(scalars, [(0, MIB), (1, 2 * MIB), (2, 3 * MIB)])


class Snapshots(unittest.TestCase):
    def test_a_recording_and_what_stands_beside_it(self):
        with tempfile.TemporaryDirectory() as folder, RecordingCuda() as gpu:
            gpu.record()
            x, path = torch.empty(MIB, dtype=torch.uint8), os.path.join(folder, "now.pickle")
            self.assertEqual(ullage.snapshot(path), path)
            with open(path, "rb") as f:
                self.assertEqual([e["action"] for e in pickle.load(f)["device_traces"][0]], ["alloc"])
            with open(path[:-7] + ".json", encoding="utf-8") as f:
                beside = json.load(f)
            self.assertEqual((beside["recording"], beside["reason"], beside["history"]), ("now.pickle", "snap", None))
            device = beside["devices"][0]
            self.assertEqual((device["total_bytes"], device["stats"]["allocated_bytes.all.current"]), (1 << 30, MIB))
            gpu.record(enabled=None)
            ullage.snapshot(path)
            self.assertEqual(sorted(os.listdir(folder)), ["now.json", "now.pickle"])
            del x

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"path is 'x.bin', but has to be a name that ends in \.pickle"):
            ullage.snapshot("x.bin")
        with self.assertRaisesRegex(RuntimeError, "has not used CUDA"):
            ullage.snapshot("x.pickle")
        with tempfile.TemporaryDirectory() as folder, RecordingCuda():
            path = os.path.join(folder, "now.pickle")
            ullage.snapshot(path)
            lost = os.path.join(folder, "nowhere", "now.pickle")
            with self.assertRaises(FileNotFoundError) as caught:
                ullage.snapshot(lost)
            self.assertEqual(caught.exception.filename, lost)
            with mock.patch.object(dump, "require_room", side_effect=dump.Refused("the disk is full")):
                with self.assertRaisesRegex(RuntimeError, "now.pickle': the disk is full"):
                    ullage.snapshot(path)
            self.assertEqual(sorted(os.listdir(folder)), ["now.json", "now.pickle"])  # the earlier one is as it was


if __name__ == "__main__":
    unittest.main()
