import asyncio
import gc
import sys
import threading
import unittest
import warnings
from unittest import mock

import torch
from fakecuda import OutOfMemoryError
from fakepools import MIB, FakePools, OnDevice

from ullage._pool import pool as pools
from ullage._pool import routing, segments
from ullage._pool.errors import PoolInUse, PoolOutOfMemory
from ullage._pool.pool import Pool

torch.set_num_threads(1)


def on_gpu(mib: float) -> torch.Tensor:
    return torch.empty(int(mib * MIB), dtype=torch.uint8, device="cuda")


def load_tests(loader, tests, pattern):
    """Caches need torch 2.3, which says so: test_poolcache.py."""
    able = hasattr(torch._C, "_set_storage_data_ptr_access_error_msg")
    return tests if able else unittest.TestSuite(t for suite in tests for t in suite if "cache" not in t.id())


class Case(unittest.TestCase):
    def setUp(self):
        self.device = self.enterContext(FakePools()) if hasattr(self, "enterContext") else self._enter(FakePools())

    def _enter(self, manager):  # before Python 3.11
        entered = manager.__enter__()
        self.addCleanup(manager.__exit__, None, None, None)
        return entered

    def pool(self, **kwargs):
        made = Pool(**kwargs)
        self.addCleanup(self.drop, made)
        return made

    def drop(self, pool):
        gc.collect()
        pool.close()
        self.assertEqual(self.device.aborts, 0)


class Limits(Case):
    def test_counts_what_is_made_inside_and_nothing_else(self):
        pool = self.pool(limit=100 * MIB)
        probe = pool.reserved_bytes
        before = on_gpu(30)
        with pool:
            inside = on_gpu(30)
        after = on_gpu(30)
        self.assertEqual(pool.allocated_bytes, 30 * MIB)
        self.assertEqual(pool.reserved_bytes, probe + 30 * MIB)
        del before, after
        self.assertEqual(pool.allocated_bytes, 30 * MIB)
        del inside
        self.assertEqual((pool.allocated_bytes, pool.reserved_bytes), (0, probe + 30 * MIB))

    def test_is_exact_to_the_byte_of_a_segment(self):
        pool = self.pool(limit=102 * MIB)  # 2 MiB went to the segment for small tensors
        with pool:
            kept = [on_gpu(60), on_gpu(40)]
        self.assertEqual(pool.reserved_bytes, pool.limit_bytes)
        with self.assertRaises(PoolOutOfMemory), pool:
            kept.append(on_gpu(1.5))
        del kept

    def test_the_error_says_pool_asked_used_and_limit(self):
        pool = self.pool(limit=100 * MIB, name="chat")
        with pool:
            kept = on_gpu(60)
        with self.assertRaises(OutOfMemoryError) as caught:
            pool.run(on_gpu, 50)
        error = caught.exception
        self.assertIsInstance(error, PoolOutOfMemory)
        self.assertEqual((error.pool, error.asked_bytes), ("pool 'chat' on cuda:0", 50 * MIB))
        self.assertEqual((error.used_bytes, error.limit_bytes), (62 * MIB, 100 * MIB))
        self.assertIn("pool 'chat' on cuda:0 is full: 50.00 MiB more asked, 62.00 MiB of its limit of 100.00 MiB taken", str(error))
        self.assertIn("60.00 MiB of them in tensors", str(error))
        self.assertIsInstance(error.__cause__, OutOfMemoryError)
        del kept, caught, error

    def test_a_full_pool_leaves_another_alone(self):
        one, two = self.pool(limit=100 * MIB), self.pool(limit=100 * MIB)
        with two:
            theirs = on_gpu(50)
        before = two.reserved_bytes, two.allocated_bytes
        for _ in range(3):
            with self.assertRaises(PoolOutOfMemory):
                one.run(on_gpu, 200)
        self.assertEqual((two.reserved_bytes, two.allocated_bytes), before)
        self.assertEqual(two.run(on_gpu, 40).numel(), 40 * MIB)
        del theirs

    def test_a_full_device_is_told_from_a_full_pool(self):
        pool = self.pool(limit=1 << 40)
        with self.assertRaises(PoolOutOfMemory) as caught:
            pool.run(on_gpu, 2000)
        self.assertIn("the device has no 1.95 GiB left for it", str(caught.exception))
        self.assertEqual(pool.reserved_bytes, 2 * MIB)  # what failed isn't counted

    def test_an_error_of_another_kind_is_passed_on(self):
        pool = self.pool(limit=100 * MIB)
        for error in (ValueError("x"), OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 MiB.")):
            with self.assertRaises(type(error)) as caught, pool:
                try:
                    on_gpu(200)
                except OutOfMemoryError:
                    pass
                raise error
            self.assertIs(caught.exception, error)

    def test_no_limit(self):
        pool = self.pool()
        self.assertIsNone(pool.limit_bytes)
        self.assertEqual(pool.run(on_gpu, 900).numel(), 900 * MIB)

    def test_amounts_in_words(self):
        pool = self.pool(limit="64MiB", reserve="16 MiB")
        self.assertEqual(pool.limit_bytes, 64 * MIB)
        self.assertGreaterEqual(pool.reserved_bytes, 16 * MIB)
        with self.assertRaises(PoolOutOfMemory):
            pool.run(on_gpu, 65)

    def test_amounts_that_cant_be(self):
        for arguments in ({"limit": 5}, {"limit": -1}, {"limit": 64 * MIB, "reserve": 65 * MIB}, {"reserve": 3 * MIB}):
            with self.subTest(arguments), self.assertRaises(ValueError):
                Pool(**arguments)


class Reserve(Case):
    def test_is_taken_at_once_and_serves_small_and_large(self):
        pool = self.pool(limit=256 * MIB, reserve=128 * MIB)
        self.assertEqual((pool.reserved_bytes, pool.allocated_bytes), (128 * MIB, 0))
        calls = self.device.runtime_calls
        with pool:
            kept = [on_gpu(n) for n in (60, 5, 30, 0.5, 0.1, 12)]
        self.assertEqual(self.device.runtime_calls, calls)
        del kept

    def test_holds_when_others_took_the_rest(self):
        pool = self.pool(limit=256 * MIB, reserve=128 * MIB)
        self.device.device_bytes = self.device.used_bytes
        self.assertEqual(pool.run(on_gpu, 100).numel(), 100 * MIB)
        with self.assertRaises(PoolOutOfMemory) as caught:
            pool.run(on_gpu, 126)
        self.assertIn("others hold it", str(caught.exception))

    def test_that_the_device_hasnt(self):
        with self.assertRaises(PoolOutOfMemory):
            Pool(reserve=4 << 30)
        gc.collect()
        self.assertEqual(self.device.used_bytes, 0)

    def test_needs_segments_that_can_be_cut(self):
        self.device.options = "max_split_size_mb:128"
        with self.assertRaisesRegex(RuntimeError, "max_split_size_mb"):
            Pool(reserve=64 * MIB)

    def test_as_much_as_the_limit(self):
        self.assertEqual(self.pool(limit=64 * MIB, reserve=64 * MIB).reserved_bytes, 64 * MIB)


class Closing(Case):
    def test_returns_all(self):
        pool = self.pool(limit=256 * MIB, reserve=64 * MIB)
        x = pool.run(on_gpu, 100)
        del x
        pool.close()
        pool.close()
        self.assertTrue(pool.closed)
        self.assertEqual((self.device.used_bytes, pool.reserved_bytes), (0, 0))
        with self.assertRaisesRegex(RuntimeError, "closed"), pool:
            pass

    def test_is_refused_while_a_tensor_lives(self):
        pool = self.pool(limit=256 * MIB)
        x = pool.run(on_gpu, 100)
        with self.assertRaises(PoolInUse) as caught:
            pool.close()
        self.assertEqual(caught.exception.live_bytes, 100 * MIB)
        self.assertFalse(pool.closed)
        del x
        pool.close()

    def test_what_a_library_keeps_is_no_hindrance(self):
        pool = self.pool(limit=256 * MIB)
        self.device.workspaces.append(pool.run(on_gpu, 32))
        pool.close()
        self.assertEqual(self.device.used_bytes, 0)

    def test_is_refused_within_a_block(self):
        one, two = self.pool(limit=64 * MIB), self.pool(limit=64 * MIB)
        for pool in (one, two):
            with self.assertRaisesRegex(RuntimeError, "from within the block"), one:
                pool.close()
            self.assertFalse(pool.closed)

    def test_waits_until_no_thread_is_in_a_pool(self):
        one, two = self.pool(limit=64 * MIB), self.pool(limit=64 * MIB)
        entered, leave, log = threading.Event(), threading.Event(), []

        def stay():
            with one, one:
                entered.set()
                leave.wait()
                log.append("left")

        def close():
            entered.wait()
            with mock.patch.object(routing.gate._changed, "wait_for", self.seen(log, leave)):
                two.close()
            log.append("closed")

        threads = [threading.Thread(target=stay), threading.Thread(target=close)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(log, ["waits", "left", "closed"])

    def seen(self, log, leave):
        """wait_for, which says when what it waits for isn't there yet, and then lets it come."""
        wait_for = routing.gate._changed.wait_for

        def waits(condition):
            if not condition():
                log.append("waits")
                leave.set()
            return wait_for(condition)

        return waits

    def test_from_many_threads_that_come_and_go(self):
        errors = []

        def work():
            try:
                with OnDevice(self.device):
                    for _ in range(20):
                        pool = Pool(limit=64 * MIB)
                        with pool:
                            kept = on_gpu(3)
                        del kept
                        pool.close()
            except BaseException as e:
                errors.append(e)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((errors, self.device.aborts, self.device.used_bytes), ([], 0, 0))

    def test_dropping_it_open_is_told(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            Pool(limit=64 * MIB, name="forgotten")
            gc.collect()
        self.assertEqual([w.category for w in told], [ResourceWarning])
        self.assertIn("'forgotten'", str(told[0].message))

    def test_dropped_within_a_block_it_lasts_until_the_end_of_that(self):
        outer = self.pool(limit=64 * MIB)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with outer:
                Pool(limit=64 * MIB)
                with self.assertRaises(PoolOutOfMemory):
                    Pool(reserve=4 << 30)
                gc.collect()
                self.assertGreater(self.device.used_bytes, outer.reserved_bytes)
            self.assertEqual((self.device.used_bytes, self.device.aborts), (outer.reserved_bytes, 0))

    def test_closes_its_caches(self):
        pool = self.pool(limit=64 * MIB)
        cache = pool.cache("16MiB")
        with self.assertRaises(PoolOutOfMemory):
            pool.cache(60 * MIB)
        self.assertEqual(pool.allocated_bytes, 16 * MIB)
        pool.close()
        self.assertEqual(self.device.used_bytes, 0)
        with self.assertRaisesRegex(RuntimeError, "closed"):
            cache.empty(8)

    def test_is_refused_while_a_tensor_of_a_cache_lives(self):
        pool = self.pool(limit=64 * MIB)
        kept = pool.cache(16 * MIB).empty(8)
        with self.assertRaises(PoolInUse):
            pool.close()
        del kept
        pool.close()


class Asking(Case):
    def test_often(self):
        pool = self.pool(limit=64 * MIB)
        before = sys.getrefcount(pool.id[1])
        for _ in range(2000):
            self.assertEqual(pool.allocated_bytes, 0)
        self.assertGreaterEqual(sys.getrefcount(pool.id[1]), before)


class Routing(Case):
    def test_nested(self):
        one, two = self.pool(limit=512 * MIB), self.pool(limit=512 * MIB)
        with one:
            kept = [on_gpu(10)]
            with two:
                kept.append(on_gpu(20))
                with one, one:
                    kept.append(on_gpu(40))
                kept.append(on_gpu(80))
            kept.append(on_gpu(160))
        kept.append(on_gpu(200))
        self.assertEqual((one.allocated_bytes, two.allocated_bytes), (210 * MIB, 100 * MIB))
        del kept

    def test_left_out_of_order(self):
        one, two = self.pool(limit=512 * MIB), self.pool(limit=512 * MIB)
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        kept = on_gpu(20)
        two.__exit__(None, None, None)
        outside = on_gpu(30)
        self.assertEqual((one.allocated_bytes, two.allocated_bytes), (0, 20 * MIB))
        del kept, outside

    def test_a_pool_that_cant_be_entered_leaves_the_outer_one_in_force(self):
        one, two = self.pool(limit=512 * MIB), self.pool(limit=512 * MIB)
        with one:
            with mock.patch.object(two, "_route", side_effect=RuntimeError("no")), self.assertRaisesRegex(RuntimeError, "no"):
                two.__enter__()
            kept = on_gpu(20)
        self.assertEqual(one.allocated_bytes, 20 * MIB)
        two.close()  # nobody is taken to be in it
        del kept

    def test_an_exception_leaves_nothing_routed(self):
        pool = self.pool(limit=512 * MIB)
        with self.assertRaises(KeyError), pool:
            raise KeyError
        kept = on_gpu(20)
        self.assertEqual(pool.allocated_bytes, 0)
        del kept

    def test_backward_runs_in_the_calling_thread_and_only_inside(self):
        pool = self.pool(limit=64 * MIB)
        self.assertTrue(torch.autograd.is_multithreading_enabled())
        with pool:
            with pool:
                self.assertFalse(torch.autograd.is_multithreading_enabled())
            self.assertFalse(torch.autograd.is_multithreading_enabled())
        self.assertTrue(torch.autograd.is_multithreading_enabled())
        with torch.autograd.set_multithreading_enabled(False), pool:
            pass

    def test_threads_take_turns(self):
        pool = self.pool(limit=512 * MIB)
        inside, most, order = [0], [0], []

        def work(i):
            with OnDevice(self.device):
                for _ in range(20):
                    with pool:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                        order.append(on_gpu(2))
                        inside[0] -= 1

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((most[0], len(order), pool.allocated_bytes), (1, 80, 160 * MIB))
        order.clear()

    def test_decorator_and_run(self):
        pool = self.pool(limit=64 * MIB)

        @pool
        def make(mib, *, more=0):
            """Makes."""
            return on_gpu(mib + more)

        kept = make(10, more=2), pool.run(make, 3)
        self.assertEqual((make.__name__, make.__doc__, pool.allocated_bytes), ("make", "Makes.", 15 * MIB))
        del kept

    def test_what_runs_later_cant_be_decorated(self):
        pool = self.pool(limit=64 * MIB)

        async def later():
            await asyncio.sleep(0)

        def generator():
            yield 1

        for fn in (later, generator):
            with self.assertRaisesRegex(TypeError, fn.__name__):
                pool(fn)
            with self.assertRaisesRegex(TypeError, "fn returned a (coroutine|generator), and so has not run yet"):
                pool.run(fn)
        with self.assertRaisesRegex(TypeError, "@staticmethod goes above it"):
            pool(staticmethod(later))

    def test_left_in_another_thread(self):
        pool = self.pool(limit=64 * MIB)
        pool.__enter__()
        errors = []

        def leave():
            try:
                pool.__exit__(None, None, None)
            except RuntimeError as e:
                errors.append(str(e))

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
        self.assertIn("another thread", errors[0])
        pool.__exit__(None, None, None)


class Preconditions(Case):
    def refused(self, words):
        with self.assertRaisesRegex(RuntimeError, words):
            Pool(limit=64 * MIB)
        gc.collect()

    def test_a_torch_without_pools(self):
        for where, name in ((torch.cuda, "MemPool"), (torch._C, "_cuda_beginAllocateCurrentThreadToPool")):
            with mock.patch.object(where, name):
                delattr(where, name)
                self.refused("torch 2.8 or newer")

    def test_another_backend(self):
        with mock.patch.object(torch.cuda, "get_allocator_backend", lambda: "cudaMallocAsync"):
            self.refused("backend:cudaMallocAsync")

    def test_no_device(self):
        with mock.patch.object(torch.cuda, "is_available", lambda: False):
            self.refused("finds none")

    def test_an_allocator_that_isnt_asked(self):
        self.device.ignores_allocators = True
        self.refused("doesn't ask")


class Settings(Case):
    def test_options_are_kept_when_one_is_added(self):
        before = self.device.options = "roundup_power2_divisions:[256:1,>:4],garbage_collection_threshold:0.8"
        self.pool(limit=64 * MIB)
        self.pool(limit=64 * MIB)
        self.assertEqual(self.device.set_options, [before + ",release_lock_on_cudamalloc:True"])

    def test_option(self):
        for text, want in (
            ("", None), ("a:1,max_split_size_mb: 64", "64"), ("max_split_size_mb:64,b:[1:2,>:3]", "64"), ("xmax_split_size_mb:1", None)
        ):
            self.assertEqual(segments.option(text, "max_split_size_mb"), want, text)

    def test_amounts_as_torch_writes_them(self):
        for size, want in ((512, "512 bytes"), (2 * MIB, "2.00 MiB"), (1 << 30, "1024.00 MiB"), (3 << 29, "1.50 GiB"), (1536, "1.50 KiB")):
            self.assertEqual(pools._as_torch_writes(size), want)


if __name__ == "__main__":
    unittest.main()
