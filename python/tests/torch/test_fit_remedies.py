"""Remedies that the tracer tries take the memory that the same remedies take when the program's author writes them."""
import textwrap
import unittest

import torch
from fitrun import IS_OLD, Run, live_bytes

torch.set_num_threads(1)

MODEL = """
    import contextlib, gc, sys, torch
    from torch import nn
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        recomputed = False
        def __init__(self):
            super().__init__()
            self.up, self.act, self.norm, self.down = nn.Linear(256, 1024), nn.GELU(), nn.LayerNorm(1024), nn.Linear(1024, 256)
        def inner(self, x):
            return x + self.down(self.norm(self.act(self.up(x))))
        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=False) if self.recomputed else self.inner(x)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks, self.head = nn.ModuleList(Block() for _ in range(4)), nn.Linear(256, 1000)
        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    def train(by_hand="", batch=8192, batches=3):
        torch.cuda.reset_peak_memory_stats()
        model = Model()
        for block in model.blocks:
            block.recomputed = by_hand == "checkpoint"
        dtype = torch.bfloat16 if by_hand == "bf16" else torch.float32
        model.to("cuda", dtype) if by_hand == "bf16" else model.to("cuda")
        make = {"sgd": torch.optim.SGD, "adafactor": torch.optim.Adafactor}.get(by_hand, torch.optim.AdamW)
        options = {"foreach": {"foreach": False}, "fused": {"fused": True}}.get(by_hand, {})
        optimizer = make(model.parameters(), lr=1e-3, **options)
        parts = 2 if by_hand == "accumulate" else 1
        for _ in range(batches):
            optimizer.zero_grad()
            for _ in range(parts):
                x = torch.randn(batch // parts, 256)
                x = x.to("cuda", dtype) if by_hand == "bf16" else x.to("cuda")
                with torch.autocast("cuda", torch.bfloat16) if by_hand == "autocast" else contextlib.nullcontext():
                    loss = nn.functional.cross_entropy(model(x), torch.zeros(batch // parts, dtype=torch.long).cuda())
                loss.backward()
            optimizer.step()
"""
BY_HAND = ("", "checkpoint", "autocast", "bf16", "sgd", "adafactor", "foreach", "fused", "accumulate")


def peaks(run):
    """The most bytes that live at once, after each reset of the peak."""
    parts, part = [], []
    for line, live in zip(run.lines, live_bytes(run.lines)):
        if line["e"] == "reset_peak":
            part = []
            parts.append(part)
        part.append(live)
    return [max(p) for p in parts]


def program(body):
    return textwrap.dedent(MODEL) + textwrap.dedent(body)


if not IS_OLD:

    class ByTheTracer(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            run = Run(program(f"for by_hand in {BY_HAND!r}:\n    train(by_hand)\n    gc.collect()\n"), {"steps": 100})
            cls.by_hand = dict(zip(BY_HAND, peaks(run)))

        def tried(self, *remedies, body="train()"):
            run = Run(program(body), {"steps": 3, "remedies": list(remedies)})
            self.assertEqual(run.end["reason"], "steps", run.err)
            self.applied = {line["name"]: (line["n"], line["text"]) for line in run.of("remedy")}
            return max(peaks(run))

        def test_the_same_memory_as_by_hand(self):
            for name in BY_HAND[1:]:
                with self.subTest(name):
                    peak = self.tried(name, body="train(batch=4096, batches=6)" if name == "accumulate" else "train()")
                    self.assertEqual(peak, self.by_hand[name])
                    self.assertGreater(self.applied[name][0], 0)
                    if name not in ("foreach", "fused"):
                        self.assertLess(peak, self.by_hand[""])

        def test_several_at_once(self):
            self.assertLess(self.tried("checkpoint", "autocast"), min(self.by_hand["checkpoint"], self.by_hand["autocast"]))
            self.assertEqual(self.applied["checkpoint"], (4, "torch.utils.checkpoint around 4 Block"))

        def test_training_a_part(self):
            weights = 4 * (2 * 256 * 1024 + 3 * 1024 + 256 + 2 * 1024) * 4 + 257 * 1000 * 4
            self.assertLess(self.tried("freeze"), self.by_hand["sgd"])
            self.assertEqual(self.applied["freeze"][1], "requires_grad_(False) but for head")
            lora = self.tried("lora=8")
            self.assertGreater(lora, weights)
            self.assertLess(lora, self.by_hand[""])
            self.assertEqual(self.applied["lora"], (9, "adapters of rank 8 beside 9 linear layers, the rest frozen"))

        def test_a_state_of_8_bits_is_a_quarter(self):
            eight = self.tried("adam8bit")
            saved, state = self.by_hand[""] - eight, self.by_hand[""] - self.by_hand["sgd"]
            self.assertAlmostEqual(saved / state, 0.75, delta=0.03)

        def test_what_does_not_apply_is_said(self):
            body = """
            layer = torch.nn.Linear(8, 8).cuda()
            optimizer = torch.optim.Rprop(layer.parameters(), foreach=False)
            for _ in range(3):
                layer(torch.ones(4, 8).cuda()).sum().backward()
                optimizer.step()
            """
            run = Run(program(body), {"steps": 3, "remedies": ["checkpoint", "fused", "foreach", "sgd"]})
            said = {line["name"]: (line["n"], line["text"]) for line in run.of("remedy")}
            self.assertEqual(said["checkpoint"], (0, "no module has repeated blocks"))
            self.assertEqual(said["sgd"][0], 1)


if __name__ == "__main__":
    unittest.main()
