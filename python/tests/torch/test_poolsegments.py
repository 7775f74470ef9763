import ctypes
import threading
import types
import unittest
from unittest import mock

import torch

from ullage._pool import segments
from ullage._pool.segments import Refusal, Runtime, Segments

torch.set_num_threads(1)
MIB = 1 << 20
_MALLOC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
_MODE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class FakeLibrary:
    """CUDA's runtime as ctypes sees it, with room for one MiB."""

    def __init__(self) -> None:
        self.mode, self.mode_at_malloc = 0, None

        def malloc(pointer, size):
            self.mode_at_malloc = self.mode
            if size > MIB:
                return 2  # cudaErrorMemoryAllocation
            ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))[0] = 0x1000
            return 0

        def exchange(pointer):
            mode = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))
            mode[0], self.mode = self.mode, mode[0]
            return 0

        self.cudaMalloc, self.cudaThreadExchangeStreamCaptureMode = _MALLOC(malloc), _MODE(exchange)
        self.cudaFree = _FREE(lambda pointer: 0)


class OfTheRuntime(unittest.TestCase):
    def test_memory_under_a_mode_that_is_put_back(self):
        library = FakeLibrary()
        with mock.patch.object(ctypes, "CDLL", lambda path: library):
            runtime = Runtime()
        self.assertEqual((runtime.malloc(MIB), runtime.malloc(MIB + 1)), (0x1000, 0))
        self.assertEqual((library.mode_at_malloc, library.mode), (2, 0))
        self.assertEqual(runtime.free_address, ctypes.cast(library.cudaFree, ctypes.c_void_p).value)

    def test_what_is_missing_is_said(self):
        def no_library(path):
            raise OSError("no such file")

        for patched, words in (
            (mock.patch.object(ctypes, "CDLL", no_library), "needs PyTorch for CUDA .*libc10_cuda.so: no such file"),
            (mock.patch.object(ctypes, "CDLL", lambda path: types.SimpleNamespace()), "needs PyTorch for CUDA .*cudaMalloc"),
            (mock.patch.object(segments.sys, "platform", "win32"), "needs Linux"),
        ):
            with self.subTest(words), patched, self.assertRaisesRegex(RuntimeError, words):
                Runtime()


class Counting(unittest.TestCase):
    def test_from_many_threads_at_once(self):
        made = Segments(100 * MIB, types.SimpleNamespace(malloc=lambda size: 1, free_address=1))
        granted, together = [], threading.Barrier(8)

        def take():
            together.wait()
            for _ in range(50):
                if made._callback(2 * MIB, 0, None):
                    granted.append(1)

        threads = [threading.Thread(target=take) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(granted), made.taken_bytes, made.refusal), (50, 100 * MIB, Refusal(2 * MIB, True)))

    def test_what_the_driver_refuses_is_not_counted(self):
        made = Segments(100 * MIB, types.SimpleNamespace(malloc=lambda size: 0, free_address=1))
        self.assertIsNone(made._callback(20 * MIB, 0, None))
        self.assertEqual((made.taken_bytes, made.refusal), (0, Refusal(20 * MIB, False)))


class Settings(unittest.TestCase):
    def test_where_they_are_asked(self):
        def snapshot(key):
            if len(key) != 2:
                raise RuntimeError("mempool_id must be a tuple of 2 integers")
            return {"allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "a:1"}}

        with mock.patch.object(torch._C, "_accelerator_getAllocatorSettings", None, create=True):
            with mock.patch.object(torch._C, "_cuda_memorySnapshot", snapshot, create=True):
                self.assertEqual(segments.settings(), "a:1")
            three = {"allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "b:1"}}
            with mock.patch.object(torch._C, "_cuda_memorySnapshot", lambda key: three, create=True):
                self.assertEqual(segments.settings(), "b:1")


if __name__ == "__main__":
    unittest.main()
