import contextlib
import unittest
from unittest import mock

import torch
from fakecuda import FakeCuda, OutOfMemoryError

from ullage._pool.limit import _fraction_for, limit

torch.set_num_threads(1)
MIB = 1 << 20


def bytes_of(mib: int) -> torch.Tensor:
    return torch.empty(mib * MIB, dtype=torch.uint8)


class Limit(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(mock.patch.object(torch.cuda, "device", lambda index: contextlib.nullcontext()))
        self.gpu = stack.enter_context(FakeCuda(total_bytes=1 << 30))

    def test_holds_and_is_put_back(self):
        with limit(100 * MIB) as held:
            self.assertEqual(self.gpu.limit_bytes(), 100 * MIB)
            kept = bytes_of(100)
            with self.assertRaises(OutOfMemoryError):
                bytes_of(1)
            self.assertIn("100.00 MiB on cuda:0", repr(held))
        more = bytes_of(200)
        del kept, more

    def test_from_now_on(self):
        held = limit(100 * MIB, "cuda:0")
        self.assertEqual(self.gpu.limit_bytes(), 100 * MIB)
        held.restore()
        held.restore()
        self.assertEqual(self.gpu.fraction, 1.0)

    def test_within_another(self):
        with limit(500 * MIB), limit(100 * MIB):
            self.assertEqual(self.gpu.limit_bytes(), 100 * MIB)
        self.assertEqual(self.gpu.fraction, 1.0)
        with limit(500 * MIB):
            with limit(100 * MIB):
                pass
            self.assertEqual(self.gpu.limit_bytes(), 500 * MIB)

    def test_where_torch_doesnt_tell_the_fraction(self):
        with mock.patch.object(torch.cuda, "get_per_process_memory_fraction", None, create=True), limit(500 * MIB):
            with limit(100 * MIB):
                pass
            self.assertEqual(self.gpu.limit_bytes(), 500 * MIB)

    def test_the_cache_is_given_back_first(self):
        del_me = bytes_of(300)
        del del_me
        self.assertEqual(self.gpu.reserved_bytes, 300 * MIB)
        with limit(100 * MIB):
            self.assertEqual((self.gpu.flushes, self.gpu.reserved_bytes), (1, 0))

    def test_in_words(self):
        with limit("100MiB") as held:
            self.assertEqual((held.limit_bytes, self.gpu.limit_bytes()), (100 * MIB, 100 * MIB))

    def test_what_cant_be(self):
        kept = bytes_of(300)
        for amount in (0, -1, (1 << 30) + 1, 100 * MIB):
            with self.subTest(amount), self.assertRaisesRegex(ValueError, "limit_bytes is "):
                limit(amount)
        self.assertEqual(self.gpu.fraction, 1.0)
        with self.assertRaisesRegex(ValueError, "device is 'cpu', but has to be one of CUDA's"):
            limit(400 * MIB, "cpu")
        del kept

    def test_every_byte_comes_out(self):
        for total in (85899345920, 150109880320, 25757220864, 11811160064):
            for amount in (1, 2097152, 2097153, total // 3, total // 7 * 5 + 1, total - 1, total):
                self.assertEqual(int(_fraction_for(amount, total) * total), amount, (amount, total))


if __name__ == "__main__":
    unittest.main()
