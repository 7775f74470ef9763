"""ullage.fit, with the program `ullage` of this tree: built by Go, or named by ULLAGE_BINARY."""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

import torch
import ullage
from fitbinary import ROOT, binary
from fitrun import IS_OLD
from ullage._fit import ask

torch.set_num_threads(1)

PROGRAM = """
import json, sys, torch, ullage
from torch import nn

def step(model, optimizer, batch):
    optimizer.zero_grad()
    model(batch["x"]).square().mean().backward()
    optimizer.step()

def forward(model, x):
    with torch.no_grad():
        model(x)

def fails(model):
    raise ValueError("no such step")

def told(what, *args, **options):
    try:
        got = ullage.fit(*args, **options)
        remedies = [r["name"] for r in got.remedies if r["applies"]]
        said = [got.peak_allocated_bytes, got.peak_reserved_bytes, got.safe_bytes, got.process_bytes, got.fits, remedies, str(got)]
    except ullage.FitError as e:
        said = str(e)
    print(json.dumps({what: said}), flush=True)

if __name__ == "__main__":
    model = nn.Sequential(nn.Linear(2048, 8192), nn.ReLU(), nn.Linear(8192, 2048))
    before = model[0].weight.clone()
    optimizer = torch.optim.AdamW(model.parameters())
    told("train", model, step, optimizer, {"x": torch.randn(4096, 2048)}, remedies=["sgd"])
    told("small", model, step, optimizer, {"x": torch.randn(4096, 2048)}, device_memory="800MiB")
    with torch.device("meta"):
        told("meta", nn.Linear(32768, 65536), forward, torch.zeros(16, 32768))
    told("fails", model, fails)
    sys.modules["cloudpickle"] = None  # as where it is not installed
    told("lambda", model, lambda model: None)
    print(json.dumps({"unchanged": [bool((model[0].weight == before).all()), str(model[0].weight.device), len(optimizer.state)]}))
"""


class Asking(unittest.TestCase):
    def test_without_the_program(self):
        for environ, message in (
            ({"PATH": "", ask.BINARY: ""}, "`ullage` is not on PATH.*hint: install it"),
            ({ask.BINARY: "/none/ullage"}, "/none/ullage, which is no program"),
        ):
            with mock.patch.dict(os.environ, environ), self.assertRaisesRegex(ullage.FitError, message):
                ullage.fit(torch.nn.Linear(1, 1), print)

    def test_within_a_prediction(self):
        with mock.patch.dict(os.environ, {"ULLAGE_FIT": "/somewhere"}), self.assertRaisesRegex(ullage.FitError, "__main__"):
            ullage.fit(torch.nn.Linear(1, 1), print)


if not IS_OLD:

    class Predicting(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.said = {}
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "program.py")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(textwrap.dedent(PROGRAM))
                env = {**os.environ, ask.BINARY: binary(folder), "PYTHONPATH": os.path.join(ROOT, "python", "src"), "OMP_NUM_THREADS": "1"}
                done = subprocess.run([sys.executable, path], env=env, cwd=folder, capture_output=True, text=True, timeout=600)
            cls.log = done.stdout + done.stderr
            for line in done.stdout.splitlines():
                cls.said.update(ask.json.loads(line))

        def test_a_training_step(self):
            allocated, reserved, safe, process, fits, remedies, text = self.said["train"]
            weights = 4 * (2 * 2048 * 8192 + 8192 + 2048)
            activations = 4 * 4096 * (2048 + 2 * 8192)
            self.assertGreater(allocated, 4 * weights)
            self.assertLess(allocated, 5 * weights + 2 * activations)
            self.assertLess(allocated, reserved)
            self.assertLess(reserved, safe)
            self.assertLess(reserved, process)
            self.assertTrue(fits)
            self.assertEqual(remedies, ["sgd"])
            self.assertIn("fits on h200: reserves", text)
            self.assertIn("traced", text)

        def test_it_does_not_fit(self):
            self.assertFalse(self.said["small"][4], self.log)

        def test_a_model_without_memory(self):
            self.assertGreater(self.said["meta"][0], 4 * 32768 * 65536)

        def test_errors(self):
            self.assertIn("ValueError: no such step", self.said["fails"])
            self.assertRegex(self.said["lambda"], "cannot be sent to another process: .*lambda.*hint: define step")

        def test_nothing_is_changed(self):
            self.assertEqual(self.said["unchanged"], [True, "cpu", 0])


if __name__ == "__main__":
    unittest.main()
