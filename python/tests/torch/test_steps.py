"""Counting optimizer steps with a real torch."""
from __future__ import annotations

import gc
import sys
import unittest
import weakref
from typing import Any
from unittest import mock

import torch

from ullage._torch import api, steps


def optimizer() -> Any:
    model = torch.nn.Linear(2, 2)
    model(torch.ones(2)).sum().backward()
    return torch.optim.SGD(model.parameters(), lr=0.1)


class Counts(unittest.TestCase):
    def setUp(self) -> None:
        self.steps = steps.Steps(torch)
        hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
        self.addCleanup(lambda kept: (hooks.clear(), hooks.update(kept)), dict(hooks))
        self.assertTrue(self.steps.begin())

    def test_before_the_first(self) -> None:
        self.assertIsNone(self.steps.count())

    def test_one_optimizer(self) -> None:
        o = optimizer()
        for _ in range(3):
            o.step()
        self.assertEqual(self.steps.count(), 3)

    def test_beginning_twice_counts_once(self) -> None:
        self.steps.begin()
        optimizer().step()
        self.assertEqual(self.steps.count(), 1)

    def test_two_in_turn_count_their_rounds(self) -> None:
        a, b = optimizer(), optimizer()
        for _ in range(4):
            a.step()
            b.step()
        self.assertEqual(self.steps.count(), 4)

    def test_memory_is_looked_at_after_the_same_one_of_two(self) -> None:
        a, b = optimizer(), optimizer()
        a.step()
        b.step()
        for order in (a, b), (a, b):
            self.steps.ask()
            seen = []
            for o in order:
                with mock.patch.object(api, "used_devices", lambda torch: {0: {"allocated_bytes.all.current": id(o)}}):
                    o.step()
                    seen.append(self.steps.sample())
            self.assertEqual(seen, [steps.Sample(self.steps.count() or 0, {0: id(a)}), None])

    def test_memory_is_not_looked_at_unasked(self) -> None:
        with mock.patch.object(api, "used_devices", side_effect=AssertionError):
            optimizer().step()
        self.assertIsNone(self.steps.sample())

    def test_an_error_here_is_none_of_the_programs(self) -> None:
        self.steps.ask()
        with mock.patch.object(api, "used_devices", side_effect=RuntimeError("CUDA error")):
            optimizer().step()
        self.assertEqual(self.steps.count(), 1)

    def test_it_keeps_no_optimizer_alive(self) -> None:
        o = optimizer()
        o.step()
        kept = weakref.ref(o)
        del o
        gc.collect()
        self.assertIsNone(kept())

    @unittest.skipIf(torch.__version__.startswith("2.1."), "torch.compile of 2.1 takes all hooks off optimizers, for good")
    def test_a_compiled_step_is_compiled_as_without(self) -> None:
        """torch.compile would compile the hook with guards on its count, and again as that grows."""

        def frames() -> int:
            torch._dynamo.reset()
            counters.clear()
            o = optimizer()
            step = torch.compile(lambda: o.step(), backend="eager")
            for _ in range(4):
                step()
            return int(counters["frames"]["total"])

        from torch._dynamo.utils import counters

        with_hook = frames()
        hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
        hooks.clear()
        self.assertEqual(with_hook, frames())

    def test_a_child_begins_anew(self) -> None:
        optimizer().step()
        self.steps.forget()
        o = optimizer()
        o.step()
        o.step()
        self.assertEqual(self.steps.count(), 2)


if __name__ == "__main__":
    unittest.main()
