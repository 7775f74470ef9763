"""The holders that stand in the file beside a recording."""
import contextlib
import inspect
import json
import sys
import types
import unittest
from unittest import mock

import torch
from holding import SIZE, TELLS, Case, big, wide

from ullage._companion import dump
from ullage._holders import census, survey


def self_graph():
    return (wide(50).requires_grad_() * 1).square().sum()


class Census(Case):
    """What stands in the file beside a recording."""

    def take(self, limits=survey.Limits(seconds=600)):  # on a busy machine a search may take longer than is given to one
        taken = census.take(torch, limits, lambda memory: memory.size_bytes >= 4 * SIZE)
        return json.loads(json.dumps(taken))

    def test_rows(self):
        history = [self_graph(), self_graph()]
        box = {"k": big()}
        taken = self.take()
        self.assertTrue(taken["complete"])
        rows = {row["path"]: row for row in taken["list"]}
        self.assertEqual(rows["box['k']"]["addresses"], [hex(box["k"].data_ptr())])
        self.assertEqual((rows["box['k']"]["device"], rows["box['k']"]["storages"], rows["box['k']"]["size_bytes"]), (0, 1, 4 * SIZE))
        if TELLS:
            row = rows["graph of history[…]"]
            self.assertEqual((row["kind"], row["places"]), ("graph", 2))
            self.assertEqual(row["saved_by"], {"PowBackward0": 8 * SIZE, "AccumulateGrad": 8 * SIZE})
        del history

    def test_lists_are_bounded(self):
        kept = {f"name {chr(97 + n)}": torch.zeros(SIZE + 100 * n) for n in range(5)}
        with mock.patch.object(census, "MAX_HOLDERS", 2), mock.patch.object(census, "MAX_STORAGES", 1):
            taken = self.take()
        self.assertEqual([row["path"] for row in taken["list"]], ["kept['name e']", "kept['name d']"])
        self.assertEqual([len(row["addresses"]) for row in taken["list"]], [1, 0])
        self.assertEqual(taken["unlisted_bytes"], 4 * (3 * SIZE + 300))
        del kept

    def test_never_raises(self):
        taken = census.take(types.SimpleNamespace())
        self.assertEqual((taken["complete"], taken["list"]), (False, []))
        self.assertIn("AttributeError", taken["problem"])

        def near_the_end(n):
            return census.take(torch) if n == 0 else near_the_end(n - 1)

        room, problems = sys.getrecursionlimit() - len(inspect.stack()), []
        for left in range(-2, 30):
            with contextlib.suppress(RecursionError):  # of the test's own function
                problems.append(near_the_end(room - left).get("problem", ""))
        self.assertTrue(any("RecursionError" in p for p in problems), problems)

    def test_a_limit_of_objects(self):
        kept = [[] for _ in range(10_000)]
        kept[-1].append([big()])
        taken = self.take(limits=survey.Limits(seconds=60, objects=100))
        self.assertFalse(taken["complete"])
        self.assertEqual(len(taken["notes"]), 1)
        del kept

    def test_beside_a_recording(self):
        self.assertEqual(dump.describe(torch, "snap", {}, "run", 1)["holders"]["complete"], True)


if __name__ == "__main__":
    unittest.main()
