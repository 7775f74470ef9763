"""What the tests of holders share: tensors that are found, and objects that hold them."""
import gc
import unittest

import torch

from ullage._holders import find

torch.set_num_threads(1)
TELLS = hasattr(torch._C._autograd.SavedTensor, "data")  # torch says what a node of autograd saved
SIZE = 5000  # elements; no other tensor of the tests is as large


def big():
    return torch.zeros(SIZE)


def found(min_bytes=4 * SIZE, **options):
    return find.holders(device="cpu", min_bytes=min_bytes, **options)


class Case(unittest.TestCase):
    def setUp(self):
        gc.collect()

    def assert_held(self, *lines, **options):
        """All that is held, in words, must be these lines."""
        self.assertEqual(sorted(map(str, found(**options))), sorted(lines))


class Bag:
    def __init__(self, **named):
        self.__dict__.update(named)


class Slotted:
    __slots__ = ("kept", "empty", "__weakref__")

    def __init__(self, kept):
        self.kept = kept


def wide(rows=200):
    return torch.zeros(rows, 100)
