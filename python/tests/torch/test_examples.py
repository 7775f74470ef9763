"""Runs the examples that are written in Python, on a CPU, as a user without a GPU would. On a GPU testdata/gpu/pool_check.py runs them."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from fitbinary import binary

ROOT = Path(__file__).resolve().parents[3]
OLD = tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 5)

# What is run, its exit code, and what it prints.
EXAMPLES = (
    (["will-it-fit/will_it_fit.py", "a100-40"], 0, ["fits on a100-40: reserves", "safe with a limit of"]),
    (["preflight/preflight.py", "2"], 0, ["The step runs.", "`ullage fit` estimates that"]),
    (["resilient-training/train.py"], 0, ["after 6 steps; evaluated: ", "Without a GPU nothing ran short of memory"]),
    (["find-batch-size/find.py"], 0, ["Without a GPU there is nothing to measure; the step itself runs."]),
    (["microbatch/gradients.py"], 0, ["weighted by tokens: gradients differ by", "e-1", "weighted by samples: gradients differ by", "e-0"]),
    (["retry-on-oom/generate.py"], 0, ["32 answers, 8 at a time, in attempt 3", "32 answers, 8 at a time, in attempt 1", "{'eval': 8}"]),
    (["serve-two-models/serve.py"], 0, ["chat:   PoolOutOfMemory: chat is full: 512.00 MiB more asked, 0 B of its 128.00 MiB", "the same as before"]),
    (["tensor-parallel/tensor_parallel.py", "2"], 0, ["rank 0 of 2      16.0 MiB         0.500", "rank 1 of 2      16.0 MiB         0.500"]),
    (["checkpointing-and-amp/compare.py"], 0, ["as it is", "checkpointed", "bfloat16 autocast", "both", "not counted"]),
    (["measure/measure.py"], 0, ["the first step: no memory of a CUDA device was used", "optimizer: "]),
    (["holders/holders.py"], 0, ["predictions[…] × 5 (local 'predictions' of train() at", "monitor.seen[…] × 5", "Node.features × 5 (garbage, in a cycle of 2 Node)",
                                 "optimizer.state['exp_avg'] of model[…].weight × 2", " KiB  model[0].weight (local 'model' of main()"]),
    (["release/release.py"], 0, ["256.00 KiB are still held:", "by probe.weight (local 'probe' of main()", "without the probe: all of it is free", "logits: freed 256 KiB"]),
    (["watch/watch.py"], 0, ["300 steps, and no memory of a GPU grew: there is no GPU"]),
    (["log-memory/log_memory.py"], 0, ['{"step": 9, "loss": ']),
    (["spawn-workers/spawn.py", "2"], 0, ["rank 0 in process", "rank 1 in process", "trained on the CPU"]),
)
# What an older torch can't run says so.
ON_OLD_TORCH = {
    "will-it-fit/will_it_fit.py": (1, ["no prediction: torch 2.", "is too old"]),
    "serve-two-models/serve.py": (1, ["a cache needs torch 2.3 or newer"]),
    "tensor-parallel/tensor_parallel.py": (1, ["torch.distributed.tensor came with torch 2.5; this is 2."]),
}


class Examples(unittest.TestCase):
    def test_they_run(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        environment = {"ULLAGE_BINARY": binary(folder.name), **os.environ, "PYTHONPATH": str(ROOT / "python" / "src"), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        for command, code, prints in EXAMPLES:
            if OLD:
                code, prints = ON_OLD_TORCH.get(command[0], (code, prints))
            with self.subTest(command[0]):
                done = subprocess.run([sys.executable, str(ROOT / "examples" / command[0]), *command[1:]], capture_output=True, text=True, env=environment)
                said = done.stdout + done.stderr
                self.assertEqual(done.returncode, code, said)
                for text in prints:
                    self.assertIn(text, said)

    def test_none_is_left_out(self):
        found = {p.relative_to(ROOT / "examples").as_posix() for p in (ROOT / "examples").glob("*/*.py")}
        self.assertEqual(found, {command[0] for command, _, _ in EXAMPLES})


if __name__ == "__main__":
    unittest.main()
