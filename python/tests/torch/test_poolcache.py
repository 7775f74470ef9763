import threading
import unittest
from unittest import mock

import torch
from fakecuda import OutOfMemoryError
from torch.multiprocessing.reductions import StorageWeakRef

from ullage._pool.cache import ALIGN_BYTES, Cache
from ullage._pool.errors import PoolOutOfMemory

torch.set_num_threads(1)
KIB = 1 << 10
DTYPES = (torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.complex64)


def cache(size: int = 64 * KIB) -> Cache:
    return Cache(torch.zeros(size, dtype=torch.uint8))


class Tensors(unittest.TestCase):
    def test_shapes_types_and_alignment(self):
        made = cache()
        start = made.empty(1).data_ptr()
        kept = []
        for dtype in DTYPES:
            for shape in ((), (1,), (3, 5), (2, 1, 7)):
                t = made.zeros(*shape, dtype=dtype)
                self.assertEqual((tuple(t.shape), t.dtype, t.is_contiguous()), (shape, dtype, True))
                self.assertEqual((t.data_ptr() - start) % ALIGN_BYTES, 0)
                kept.append(t)
        spans = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in kept)
        self.assertTrue(all(end <= after for (_, end), (after, _) in zip(spans, spans[1:])))

    def test_they_dont_share_values(self):
        made = cache()
        tensors = [made.empty(100).fill_(i) for i in range(8)]
        self.assertTrue(all((t == i).all() for i, t in enumerate(tensors)))

    def test_the_default_type(self):
        self.assertEqual(cache().empty(2).dtype, torch.get_default_dtype())

    def test_nothing_is_nothing(self):
        made = cache()
        self.assertEqual((tuple(made.empty(0, 4).shape), made.used_bytes), ((0, 4), 0))

    def test_full(self):
        made = cache(4 * KIB)
        kept = made.empty(3 * KIB, dtype=torch.uint8)
        with self.assertRaises(OutOfMemoryError) as caught:
            made.empty(KIB + 1, dtype=torch.uint8)
        error = caught.exception
        self.assertIsInstance(error, PoolOutOfMemory)
        self.assertEqual((error.asked_bytes, error.used_bytes, error.limit_bytes), (KIB + 1, 3 * KIB, 4 * KIB))
        self.assertEqual(made.empty(KIB, dtype=torch.uint8).numel(), KIB)  # what fits exactly
        del kept

    def test_the_last_piece_may_be_shorter_than_the_alignment(self):
        made = cache(ALIGN_BYTES + 10)
        kept = made.empty(1, dtype=torch.uint8), made.empty(10, dtype=torch.uint8)
        self.assertEqual(made.used_bytes, made.size_bytes)
        del kept

    def test_keys_and_values(self):
        made = cache(1 << 20)
        kv = made.kv(3, 2, 4, 16, 8, dtype=torch.bfloat16)
        self.assertEqual([(tuple(k.shape), tuple(v.shape)) for k, v in kv], [((2, 4, 16, 8),) * 2] * 3)
        self.assertEqual(made.used_bytes, 3 * 2 * 2 * 4 * 16 * 8 * 2)

    def test_inference_mode_and_gradients(self):
        made = cache()
        with torch.inference_mode():
            made.empty(4).fill_(1)
        made.empty(4).fill_(1)
        made.reset()


class TakingBack(unittest.TestCase):
    def test_the_same_memory_again(self):
        made = cache()
        first = made.empty(100)
        at = first.data_ptr()
        self.assertEqual(made.reset(), 1)
        self.assertEqual((made.empty(100).data_ptr(), made.high_water_bytes), (at, ALIGN_BYTES))
        self.assertEqual(made.reset(), 0)

    def test_what_is_used_afterwards_says_so(self):
        for keep in (lambda t: t, lambda t: t[0], lambda t: t.t(), lambda t: t.view(torch.int32), lambda t: torch.nn.Parameter(t)):
            made = cache()
            kept = keep(made.zeros(4, 8))
            kept.add(1)
            self.assertEqual(made.reset(), 1)
            other = made.empty(4, 8).fill_(5)
            for use in (lambda: kept + 1, kept.clone, lambda: print(kept), lambda: kept.detach().fill_(1), kept.data_ptr):
                with self.assertRaisesRegex(RuntimeError, r"\(4, 8\) torch.float32, was in memory that cache has taken back"):
                    use()
            self.assertTrue((other == 5).all())

    def test_a_clone_lasts(self):
        made = cache()
        with made.request():
            kept = made.empty(4).fill_(3).clone()
        with made.request():
            made.empty(4).fill_(5)
        self.assertTrue((kept == 3).all())

    def test_in_a_loop_whose_variables_stay(self):
        made = cache(ALIGN_BYTES)
        for i in range(5):
            with made.request():
                x = made.empty(ALIGN_BYTES, dtype=torch.uint8).fill_(i)
                self.assertTrue((x == i).all())
        self.assertEqual(made.used_bytes, 0)

    def test_requests_within_requests(self):
        made = cache()
        weights = made.empty(100).fill_(1)
        with made.request():
            outer = made.empty(100).fill_(2)
            with made.request():
                made.empty(1000).fill_(3)
            self.assertEqual(made.used_bytes, 2 * ALIGN_BYTES)
            self.assertTrue((outer == 2).all())
        self.assertEqual(made.used_bytes, ALIGN_BYTES)
        self.assertTrue((weights == 1).all())

    def test_a_reset_within_a_request(self):
        made = cache()
        made.empty(100)
        with made.request():
            made.reset()
        self.assertEqual(made.used_bytes, 0)

    def test_a_request_that_fails(self):
        made = cache(4 * KIB)
        for _ in range(3):
            with self.assertRaises(KeyError), made.request():
                kept = made.empty(3 * KIB, dtype=torch.uint8)
                raise KeyError(kept.numel())
        self.assertEqual(made.used_bytes, 0)

    def test_closed(self):
        made = cache()
        kept = made.empty(4)
        made.close()
        made.close()
        with self.assertRaisesRegex(RuntimeError, "taken back"):
            kept.clone()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            made.empty(4)

    def test_the_block_goes_when_the_last_tensor_goes(self):
        slab = torch.zeros(KIB, dtype=torch.uint8)
        storage = StorageWeakRef(slab.untyped_storage())
        made = Cache(slab)
        kept = made.empty(4)
        made.close()
        del slab
        self.assertFalse(storage.expired())
        del kept
        self.assertTrue(storage.expired())

    def test_threads_get_pieces_of_their_own(self):
        made, kept = cache(1 << 20), []

        def take():
            for _ in range(50):
                kept.append(made.empty(16))

        threads = [threading.Thread(target=take) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len({t.data_ptr() for t in kept}), 200)


class OldTorch(unittest.TestCase):
    def test_is_refused(self):
        with mock.patch.object(torch._C, "_set_storage_data_ptr_access_error_msg", None, create=True):
            with self.assertRaisesRegex(RuntimeError, "torch 2.3 or newer"):
                cache()


def load_tests(loader, tests, pattern):
    """A torch that can't make a storage invalid has one thing to be tested: that it is told so."""
    able = hasattr(torch._C, "_set_storage_data_ptr_access_error_msg")
    return tests if able else loader.loadTestsFromTestCase(OldTorch)


if __name__ == "__main__":
    unittest.main()
