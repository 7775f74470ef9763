"""The stand-in for a GPU, against what the caching allocator is known to do."""
import unittest

import torch
from fakecuda import FakeCuda, OutOfMemoryError

from ullage._torch import memory


class Counting(unittest.TestCase):
    def test_storages_count_once_and_until_they_die(self):
        with FakeCuda() as gpu:
            x = torch.zeros(1000)  # 4,000 bytes: 4,096 with rounding
            y = x.view(10, 100)
            self.assertEqual(gpu.allocated_bytes, 4096)
            del x
            self.assertEqual(gpu.allocated_bytes, 4096)
            del y
            self.assertEqual(gpu.allocated_bytes, 0)
            self.assertEqual((gpu.reserved_bytes, gpu.peak_allocated_bytes), (4096, 4096))
            memory.flush()
            self.assertEqual(gpu.reserved_bytes, 0)

    def test_a_backward_pass_counts(self):
        with FakeCuda() as gpu:
            model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
            parameters = gpu.allocated_bytes
            loss = model(torch.ones(64, 256)).sum()
            self.assertGreater(gpu.allocated_bytes, parameters + 64 * 256 * 4 * 2)
            loss.backward()
            del loss
            self.assertEqual(gpu.allocated_bytes, 2 * parameters)

    def test_more_than_there_is_fails_and_leaves_nothing(self):
        with FakeCuda(total_bytes=1 << 20) as gpu:
            x = torch.zeros(1 << 16)
            with self.assertRaises(OutOfMemoryError):
                torch.zeros(1 << 18)
            self.assertEqual((gpu.allocated_bytes, gpu.failures), (1 << 18, 1))
            del x


class Asking(unittest.TestCase):
    def test_reading_and_room(self):
        with FakeCuda(total_bytes=1 << 20) as gpu:
            x = torch.zeros(1 << 16)
            self.assertEqual(memory.read().allocated_bytes, 1 << 18)
            self.assertEqual(memory.room_bytes(), (1 << 20) - (1 << 18))
            self.assertEqual(memory.room_bytes(limit=1 << 19), 1 << 18)
            torch.cuda.set_per_process_memory_fraction(0.5)
            self.assertEqual((memory.limit_bytes(), memory.room_bytes("cuda:0")), (1 << 19, 1 << 18))
            del x
            self.assertEqual(gpu.allocated_bytes, 0)

    def test_other_devices_are_refused(self):
        with self.assertRaisesRegex(ValueError, "'cpu' is not one of CUDA's"):
            memory.index_of("cpu")


if __name__ == "__main__":
    unittest.main()
