"""retry_on_oom in one process: what it repeats, what it lets go of, and what it leaves alone."""
import copy
import functools
import gc
import sys
import traceback
import unittest
import weakref
from unittest import mock

import torch
from fakecuda import OutOfMemoryError
from oomcuda import OomCuda, Quiet, need

import ullage
from ullage._oom import attempts, failure


class Loop(Quiet):
    def test_halves_until_it_fits_and_remembers(self):
        with OomCuda(total_bytes=40 << 10):
            sizes, seen = ullage.retry_on_oom(size=64), []
            for _ in range(2):
                for attempt in sizes:
                    with attempt:
                        seen.append(attempt.size)
                        need(attempt.size)
            self.assertEqual(seen, [64, 32, 32])
            self.assertTrue(attempt.succeeded)
            self.assertEqual((sizes.sizes, sizes.survived), ({"train": 32}, 1))
            sizes.forget()
            self.assertEqual(next(iter(sizes)).size, 64)

    def test_report_tells_what_was_freed(self):
        with OomCuda(total_bytes=40 << 10) as gpu:
            sizes = ullage.retry_on_oom(size=64)
            with self.assertLogs("ullage", "WARNING") as logs:
                for attempt in sizes:
                    with attempt:
                        need(attempt.size)
            failed, = sizes.report.failures
            self.assertEqual((failed.size, failed.allocated_bytes, failed.freed_bytes), (64, 40 << 10, 40 << 10))
            self.assertRegex(failed.message, "CUDA out of memory")
            self.assertEqual((sizes.report.succeeded, sizes.report.size, gpu.flushes), (True, 32, 1))
            self.assertRegex(logs.output[0], "going on with 32; 40.00 KiB freed")

    def test_nothing_of_the_failed_attempt_lives_in_the_next(self):
        alive, ended = [], []

        def inner(tensor):
            cycle = [tensor]
            cycle.append(cycle)
            raise OutOfMemoryError("CUDA out of memory.")

        def step(size):
            self.assertIsNone(sys.exc_info()[1])
            self.assertEqual([r() for r in alive], [None] * len(alive))
            tensor = torch.ones(8)
            alive.append(weakref.ref(tensor))
            try:
                inner(tensor)
            except OutOfMemoryError as err:
                held = torch.ones(8)
                alive.append(weakref.ref(held))
                if size > 1:
                    raise RuntimeError("the step failed") from err
            ended.append(size)

        for attempt in ullage.retry_on_oom(size=8):
            with attempt:
                step(attempt.size)
        self.assertEqual((len(alive), ended), (8, [1]))

    def test_an_error_that_someone_keeps_holds_no_frames(self):
        kept = []

        def step(size):
            tensor = torch.ones(8)
            kept.append(weakref.ref(tensor))
            if size > 1:
                kept.append(OutOfMemoryError("CUDA out of memory."))
                raise kept[-1]

        for attempt in ullage.retry_on_oom(size=2):
            with attempt:
                step(attempt.size)
        self.assertIsNone(kept[0]())
        self.assertIsNone(kept[1].__traceback__)

    def test_frames_of_the_last_error_of_a_session_are_cleared(self):
        def cell():
            tensor = torch.ones(8)
            refs.append(weakref.ref(tensor))
            raise KeyError("earlier")

        refs = []
        try:
            cell()
        except KeyError as err:
            sys.last_value = err
        self.addCleanup(delattr, sys, "last_value")
        self.assertIsNotNone(refs[0]())
        for attempt in ullage.retry_on_oom():
            with attempt:
                if attempt.number == 1:
                    raise OutOfMemoryError("CUDA out of memory.")
        self.assertIsNone(refs[0]())
        self.assertIsNotNone(sys.last_value.__traceback__)

    def test_names_that_stay_bound_are_reported(self):
        weight, sizes = torch.ones(4, requires_grad=True), ullage.retry_on_oom(size=2)

        def train():
            plain = torch.ones(4)
            for attempt in sizes:
                with attempt:
                    loss = (weight * plain).sum()
                    refs.append(weakref.ref(loss))
                    if attempt.size == 2:
                        raise OutOfMemoryError("CUDA out of memory.")
            del loss
            return [r() for r in refs]

        refs = []
        self.assertEqual(train(), [None, None])
        self.assertEqual(sizes.report.failures[0].held, ("loss",))

    def test_train_and_eval_are_apart(self):
        with OomCuda(total_bytes=40 << 10):
            sizes = ullage.retry_on_oom(size=64)
            with torch.no_grad():
                for attempt in sizes:
                    with attempt:
                        need(attempt.size)
            self.assertEqual([a.size for a in [next(iter(sizes))]], [64])
            self.assertEqual(sizes.sizes, {"eval": 32})

    def test_any_size(self):
        seen = []
        for attempt in ullage.retry_on_oom(size=(4, 512), shrink=lambda s: (s[0] // 2, s[1]) if s[0] > 1 else (1, s[1] // 2)):
            with attempt:
                seen.append(attempt.size)
                if attempt.size[0] * attempt.size[1] > 300:
                    raise OutOfMemoryError("CUDA out of memory.")
        self.assertEqual(seen, [(4, 512), (2, 512), (1, 512), (1, 256)])

    def test_left_by_return_or_break(self):
        def step():
            for attempt in ullage.retry_on_oom(size=4):
                with attempt:
                    if attempt.size > 1:
                        raise OutOfMemoryError("CUDA out of memory.")
                    return attempt.size

        self.assertEqual(step(), 1)

    def test_before_retry(self):
        calls = []
        for attempt in ullage.retry_on_oom(size=4, before_retry=lambda: calls.append("zero")):
            with attempt:
                calls.append(attempt.size)
                if attempt.size > 1:
                    raise OutOfMemoryError("CUDA out of memory.")
        self.assertEqual(calls, [4, "zero", 2, "zero", 1])

    def test_not_entered(self):
        with self.assertRaisesRegex(RuntimeError, "with attempt:"):
            for _ in ullage.retry_on_oom(size=4):
                pass


class GivingUp(Quiet):
    def run_with(self, error, **options):
        options.setdefault("size", 16)
        self.sizes, self.seen = ullage.retry_on_oom(**options), []
        for attempt in self.sizes:
            with attempt:
                self.seen.append(attempt.size)
                raise error

    def notes(self, exc):
        return " ".join(getattr(exc, "__notes__", [])) if sys.version_info >= (3, 11) else self.sizes.report.text()

    def test_at_the_floor(self):
        error = OutOfMemoryError("CUDA out of memory. Tried")
        with self.assertRaises(OutOfMemoryError) as caught:
            self.run_with(error, floor=6)
        self.assertIs(caught.exception, error)
        self.assertIs(type(error), OutOfMemoryError)
        self.assertEqual((str(error), self.seen), ("CUDA out of memory. Tried", [16, 8, 6]))
        self.assertRegex(self.notes(error), r"3 times \(train; tried: 16, 8, 6\).*no size below 6")

    def test_when_attempts_are_used_up(self):
        with self.assertRaises(OutOfMemoryError) as caught:
            self.run_with(OutOfMemoryError("CUDA out of memory."), attempts=2)
        self.assertEqual(self.seen, [16, 8])
        self.assertRegex(self.notes(caught.exception), "the 2 attempts are used up")

    def test_when_shrink_says_so(self):
        with self.assertRaises(OutOfMemoryError):
            self.run_with(OutOfMemoryError("CUDA out of memory."), shrink=lambda size: size - 5 if size > 10 else None)
        self.assertEqual(self.seen, [16, 11, 6])

    def test_the_same_again_once(self):
        with self.assertRaises(OutOfMemoryError):
            self.run_with(OutOfMemoryError("CUDA out of memory."), size=None)
        self.assertEqual(self.seen, [None, None])

    def test_other_errors_pass_at_once(self):
        for error in (KeyError("x"), RuntimeError("CUDA error: an illegal memory access was encountered"), KeyboardInterrupt(),
                      RuntimeError("CUDA error: device-side assert triggered"), MemoryError()):
            with self.subTest(error=error), self.assertRaises(type(error)) as caught:
                self.run_with(error)
            self.assertIs(caught.exception, error)
            self.assertEqual(self.seen, [16])
            self.assertFalse(getattr(error, "__notes__", None))

    def test_when_the_device_is_in_an_error_state(self):
        for text, capturing in (("CUDA error: unspecified launch failure\nmore", False), (None, True)):
            with OomCuda() as gpu:
                gpu.broken, gpu.capturing = text, capturing
                with self.subTest(text), self.assertRaises(RuntimeError) as caught:
                    self.run_with(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
                self.assertEqual(self.seen, [16])
                self.assertRegex(self.notes(caught.exception), "unspecified launch failure$" if text else "a CUDA graph is being captured")

    def test_errors_that_mean_it_without_saying_so(self):
        for text in ("CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling", "NVML_SUCCESS == r INTERNAL ASSERT FAILED"):
            with self.subTest(text), self.assertRaises(RuntimeError):
                self.run_with(RuntimeError(text))
            self.assertEqual(len(self.seen), 5)

    def test_a_lack_of_memory_that_is_being_handled_around_it_does_not_count(self):
        try:
            raise OutOfMemoryError("CUDA out of memory.")
        except OutOfMemoryError as outer:
            with self.assertRaises(KeyError):
                self.run_with(KeyError("x"))
            self.assertIsNotNone(outer.__traceback__)
        self.assertEqual(self.seen, [16])

    def test_an_error_of_the_device_in_the_chain_ends_it(self):
        error = OutOfMemoryError("CUDA out of memory.")
        error.__cause__ = RuntimeError("CUDA error: an illegal memory access was encountered")
        self.assertIsNone(failure.message_of(error))

    def test_when_shrink_gives_the_same(self):
        for options, want in (
            (dict(shrink=lambda size: max(6, size // 2)), [16, 8, 6]),
            (dict(size=(2, 64), shrink=lambda size: (max(1, size[0] // 2), 64)), [(2, 64), (1, 64)]),
            (dict(size="all", shrink=lambda size: size), ["all"]),
        ):
            error = OutOfMemoryError("CUDA out of memory.")
            with self.subTest(want), self.assertRaises(OutOfMemoryError) as caught:
                self.run_with(error, **options)
            self.assertIs(caught.exception, error)
            self.assertEqual(self.seen, want)
            self.assertIn("there is no size below", self.notes(error))

    def test_sizes_in_words_take_no_memory(self):
        class Never(torch.Tensor):
            def __repr__(self):
                raise AssertionError("printing a tensor computes on its device")

        tensor = torch.zeros(8).as_subclass(Never)
        for size, text in (((4, 512), "(4, 512)"), ([4, (2, "a")], "[4, (2, 'a')]"), (tensor, "a Never of shape (8,) and torch.float32"),
                           ((1, tensor), "(1, a Never of shape (8,) and torch.float32)"), ({"x": tensor}, "a dict"), (list(range(10**6)), "a list")):
            with self.subTest(text), self.assertRaises(OutOfMemoryError) as caught, self.assertLogs("ullage", "WARNING") as logs:
                halves = iter([size, None])
                self.run_with(OutOfMemoryError("CUDA out of memory."), size=size, shrink=lambda size: copy.copy(next(halves)), attempts=3)
            self.assertIn(text, self.notes(caught.exception))
            self.assertTrue(all(len(line) < 300 for line in logs.output))

    def test_an_attempt_is_entered_once(self):
        sizes, seen = ullage.retry_on_oom(size=16), []
        with self.assertRaisesRegex(RuntimeError, "entered twice"):
            for attempt in sizes:
                with attempt:
                    seen.append(attempt.size)
                with attempt:  # its lack of memory would be taken for one of an attempt that has succeeded
                    raise OutOfMemoryError("CUDA out of memory.")
        self.assertEqual(seen, [16])

    def test_an_error_of_shrink_is_not_called_another_ranks(self):
        def shrink(size):
            raise KeyError(size)

        with OomCuda(total_bytes=40 << 10), mock.patch.object(attempts.log, "error") as told, self.assertRaises(KeyError):
            for attempt in ullage.retry_on_oom(size=64, shrink=shrink):
                with attempt:
                    need(attempt.size)
        told.assert_not_called()

    def test_an_error_of_before_retry_shows_the_lack_of_memory_too(self):
        def fails():
            raise KeyError("mine")

        def fails_twice():
            try:
                fails()
            except KeyError as err:
                raise ValueError("wrapped") from err

        def fails_alone():
            raise KeyError("mine") from None

        lack = OutOfMemoryError("CUDA out of memory. Tried")
        for before_retry in (fails, fails_twice, fails_alone):
            with self.subTest(before_retry.__name__), self.assertRaises((KeyError, ValueError)) as caught:
                self.run_with(lack, before_retry=before_retry)
            shown = "".join(traceback.format_exception(type(caught.exception), caught.exception, caught.exception.__traceback__))
            self.assertRegex(shown, r"(?s)CUDA out of memory\. Tried.*KeyError: 'mine'")
            self.assertRegex(self.notes(caught.exception), "before_retry raised (KeyError|ValueError)")
            self.assertEqual((self.seen, self.sizes.report.succeeded), ([16], False))

    def test_an_error_of_before_retry_does_not_get_what_was_handled_before(self):
        error = KeyError("mine")
        with self.assertRaises(KeyError) as caught:
            try:
                raise OSError("earlier")
            except OSError:
                self.run_with(OutOfMemoryError("CUDA out of memory."), before_retry=mock.Mock(side_effect=error))
        self.assertIs(type(caught.exception.__cause__), OutOfMemoryError)

    def test_what_shrink_returns_is_a_whole_number(self):
        for given, kind in ((8.0, TypeError), ("8", TypeError), (17, ValueError)):
            with self.subTest(given), self.assertRaisesRegex(kind, "what shrink returned for 16 is") as caught:
                self.run_with(OutOfMemoryError("CUDA out of memory."), shrink=lambda size: given)
            self.assertIs(type(caught.exception.__context__), OutOfMemoryError)


class Decorator(Quiet):
    def test_by_size(self):
        @ullage.retry_on_oom(size=8, floor=2, argument="width")
        def step(batch, *, width, extra=0):
            """What it does."""
            if width > batch:
                raise OutOfMemoryError("CUDA out of memory.")
            return width + extra

        self.assertEqual((step(2, extra=1), step(100), step.__name__, step.__doc__), (3, 2, "step", "What it does."))
        self.assertEqual(step.retry.sizes, {"train": 2})
        with self.assertRaisesRegex(TypeError, "gets 'width' from retry_on_oom"):
            step(2, width=4)

    def test_by_arguments(self):
        @ullage.retry_on_oom(shrink=lambda a: {"tokens": a["tokens"] // 2} if a["tokens"] > 16 else None)
        def generate(prompt, /, *rest, tokens=64, **options):
            seen.append((prompt, rest, tokens, options))
            if tokens > limit:
                raise OutOfMemoryError("CUDA out of memory.")
            return tokens

        seen, limit = [], 40
        self.assertEqual(generate("a", 1, top=2), 32)
        self.assertEqual(seen, [("a", (1,), 64, {"top": 2}), ("a", (1,), 32, {"top": 2})])
        limit = 1
        with self.assertRaises(OutOfMemoryError):
            generate("a")

    def test_arguments_that_shrink_leaves_as_they_are_are_not_tried_again(self):
        @ullage.retry_on_oom(shrink=lambda a: {"ids": a["ids"], "length": max(64, a["length"] // 2)})
        def generate(ids, length=256):
            seen.append(length)
            raise OutOfMemoryError("CUDA out of memory.")

        seen = []
        with self.assertRaises(OutOfMemoryError):
            generate(torch.zeros(3))
        self.assertEqual(seen, [256, 128, 64])
        self.assertEqual(generate.retry.report.reason, "shrink makes no argument smaller")

    def test_without_arguments_it_tries_once_more(self):
        @ullage.retry_on_oom
        def step():
            calls.append(gc.isenabled())
            if len(calls) == 1:
                raise OutOfMemoryError("CUDA out of memory.")
            return "done"

        calls = []
        self.assertEqual((step(), len(calls)), ("done", 2))

    def test_by_key(self):
        @ullage.retry_on_oom(size=8, key=lambda length: length // 100)
        def step(length, size):
            if length * size > 800:
                raise OutOfMemoryError("CUDA out of memory.")
            return size

        self.assertEqual([step(100), step(400), step(450), step(100)], [8, 2, 1, 8])

    def test_misuse(self):
        async def coroutine(size): ...

        async def later(size):
            yield size

        def by_place(size, /): ...

        class Callable:
            async def __call__(self, size): ...

        for make, error in (
            (lambda: ullage.retry_on_oom(size=4)(lambda x: x), "no parameter 'size'"),
            (lambda: ullage.retry_on_oom(size=4)(coroutine), "as a loop within it"),
            (lambda: ullage.retry_on_oom(size=4)(later), "as a loop within it"),
            (lambda: ullage.retry_on_oom(size=4)(Callable()), "a Callable runs only after it was called"),
            (lambda: ullage.retry_on_oom(size=4)(functools.partial(coroutine)), "a partial runs only after it was called"),
            (lambda: ullage.retry_on_oom(size=4)(functools.partial(len)), "a partial has no parameter 'size'"),
            (lambda: ullage.retry_on_oom(size=4)(by_place), "no parameter 'size' that can be given by name"),
            (lambda: ullage.retry_on_oom(size=4)(functools.partial(coroutine))(size=3), "a partial runs only"),
            (lambda: ullage.retry_on_oom(size=4)(functools.partial(lambda size: size))(size=3), "a partial gets 'size' from retry_on_oom"),
            (lambda: ullage.retry_on_oom(size=4)(classmethod(len)), "is a classmethod, but has to be a function. hint: @classmethod goes above"),
            (lambda: ullage.retry_on_oom(size=4)(staticmethod(len)), "is a staticmethod, .* hint: @staticmethod goes above it"),
            (lambda: ullage.retry_on_oom(size=4)(Callable), "is the class Callable, but has to be a function"),
            (lambda: ullage.retry_on_oom(size=4, floor=5), "floor is 5"),
            (lambda: ullage.retry_on_oom(size="big"), "needs shrink="),
            (lambda: ullage.retry_on_oom(size=4, attempts=0), "attempts is 0"),
            (lambda: list(ullage.retry_on_oom(shrink=len)), "give retry_on_oom"),
            (lambda: ullage.retry_on_oom(shrink=lambda a: {"y": 1})(self.fail_with_oom)(1), "y, which is no parameter"),
            (lambda: ullage.retry_on_oom(shrink=lambda a: 5)(self.fail_with_oom)(1), "what shrink returned is 5, but has to be a dict"),
            (lambda: list(ullage.retry_on_oom(size=4, key=list)), "what key returned is a list, but has to be text"),
            (lambda: list(ullage.retry_on_oom(size=4, key=lambda: (1, []))), "what key returned is a tuple, but has to be text"),
            (lambda: list(ullage.retry_on_oom(size=4, key=lambda: torch.ones(1))), "what key returned is a Tensor .* hint: its .item"),
        ):
            with self.subTest(error), self.assertRaisesRegex((TypeError, ValueError), error):
                make()

    @staticmethod
    def fail_with_oom(x):
        raise OutOfMemoryError("CUDA out of memory.")


if __name__ == "__main__":
    unittest.main()
