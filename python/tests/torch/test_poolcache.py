import gc
import threading
import unittest

import torch
from fakecuda import OutOfMemoryError

from ullage._pool.cache import ALIGN_BYTES, Cache
from ullage._pool.errors import PoolInUse, PoolOutOfMemory

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
        del first
        made.reset()
        self.assertEqual((made.empty(100).data_ptr(), made.generation, made.high_water_bytes), (at, 1, ALIGN_BYTES))

    def test_a_tensor_or_a_view_of_it_that_lives(self):
        for keep in (lambda t: t, lambda t: t[0], lambda t: t.t(), lambda t: t.view(torch.int32), lambda t: t.untyped_storage(), lambda t: [t.numpy()]):
            made = cache()
            kept = keep(made.empty(4, 8))
            gc.collect()
            with self.assertRaisesRegex(PoolInUse, r"1 tensor of it is still referred to: \(4, 8\) torch.float32"):
                made.reset()
            self.assertEqual((made.generation, made.used_bytes), (0, ALIGN_BYTES))
            del kept
            made.reset()
            self.assertEqual(made.used_bytes, 0)

    def test_a_clone_may_live(self):
        made = cache()
        with made.request():
            kept = made.empty(4).fill_(3).clone()
        with made.request():
            made.empty(4).fill_(5)
        self.assertTrue((kept == 3).all())

    def test_requests_within_requests(self):
        made = cache()
        weights = made.empty(100).fill_(1)
        with made.request():
            made.empty(100).fill_(2)
            with made.request():
                made.empty(1000).fill_(3)
            self.assertEqual(made.used_bytes, 2 * ALIGN_BYTES)
        self.assertEqual(made.used_bytes, ALIGN_BYTES)
        self.assertTrue((weights == 1).all())

    def test_what_a_request_returns_is_in_use(self):
        made = cache()
        with self.assertRaises(PoolInUse), made.request():
            kept = made.empty(4)
        del kept

    def test_a_request_that_failed_is_taken_back_by_the_next(self):
        made = cache(4 * KIB)

        def fails():
            with made.request():
                kept = made.empty(3 * KIB, dtype=torch.uint8)
                raise KeyError(kept.numel())

        for _ in range(3):
            try:
                fails()
            except KeyError:
                self.assertEqual(made.used_bytes, 3 * KIB)  # the traceback refers to it
        with made.request():
            self.assertEqual(made.used_bytes, 0)

    def test_a_failed_request_of_which_a_tensor_lives(self):
        made, kept = cache(4 * KIB), []
        with self.assertRaises(KeyError), made.request():
            kept.append(made.empty(8))
            raise KeyError
        with self.assertRaises(PoolInUse), made.request():
            pass
        kept.clear()
        with made.request():
            pass

    def test_closed(self):
        made = cache()
        kept = made.empty(4)
        with self.assertRaises(PoolInUse):
            made.close()
        del kept
        made.close()
        made.close()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            made.empty(4)

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


if __name__ == "__main__":
    unittest.main()
