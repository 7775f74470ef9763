"""Bad arguments of every public function, with no GPU: each is refused before a GPU is looked for, and by the argument's name.

BAD has what is no value of a kind, CALLS which kind each argument of each public function is of. A public name or a parameter that
is in none of the tables fails the tests.
"""
import importlib.util
import inspect
import math
import unittest
from fractions import Fraction
from typing import Any, Callable, NamedTuple
from unittest import mock

import numpy
import torch

import ullage
from ullage import integrations
from ullage._pool import cache as caches
from ullage._pool import pool as pools

torch.set_num_threads(1)
MODEL = torch.nn.Linear(2, 2)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.1)
NAN, INF = math.nan, math.inf


class Bad(NamedTuple):
    """What raises TypeError, and what raises ValueError."""

    types: tuple[Any, ...]
    values: tuple[Any, ...] = ()


NO_NUMBERS: Any = ("3", b"3", True, numpy.bool_(True), torch.tensor(True), [3], torch.ones(2), object(), 1 + 2j, int)
NO_WHOLES: Any = (*NO_NUMBERS, 1.5, 4.0, NAN, numpy.float32(2), torch.tensor(2.0), Fraction(1, 2))
BAD = {
    "positive": Bad(NO_WHOLES, (0, -1, numpy.int64(-5))),
    "count": Bad(NO_WHOLES, (-1, torch.tensor(-2))),
    "share": Bad(NO_NUMBERS, (NAN, INF, -0.1, 1, 1.5, 5)),
    "seconds": Bad(NO_NUMBERS, (NAN, -1, -0.5, numpy.float32(NAN))),
    "timeout": Bad(NO_NUMBERS, (NAN, INF, 0, -1, 1e12)),
    "bytes": Bad(
        (True, b"8GiB", [8], torch.ones(2), object(), 1j, int),
        (-1, NAN, INF, 0.5, 1.5e9 + 0.5, -1.0, "", "x", "8GX", "-1GiB", "1.5", "1e9", "9EiB")),
    "device": Bad((1.5, True, [0], b"cuda", object(), torch.ones(1)), ("xx", "", "cuda:x", -1, 2, 200, "cuda:2", torch.device("cuda", 7))),
    "flag": Bad(("no", "", 2, 1.0, [], object(), torch.ones(2, dtype=torch.bool))),
    "text": Bad((5, b"x", ["x"], object(), len)),
    "function": Bad((5, "f", [len], object(), torch.ones(1))),
    "group": Bad((5, "world", object(), [0, 1], MODEL)),
    "module": Bad((5, "net", [5], object(), torch.nn.Linear, lambda: MODEL, OPTIMIZER)),
    "optimizer": Bad((5, "sgd", [OPTIMIZER, 5], torch.optim.SGD, len, MODEL)),
    "state": Bad((5, "m", [5], MODEL, torch.nn.Sequential(MODEL), OPTIMIZER, {"model": MODEL}, torch.ones(2), [torch.nn.Linear], [None])),
    "path": Bad((5, ["x"], object())),
    "watch": Bad((5, True, "watch", ullage.watch)),
    "log": Bad((5, "log", object(), torch.utils.data.Dataset, lambda: None, lambda values, other: None)),
}
BAD["size"] = Bad(BAD["bytes"].types, (0, "0", "0GiB", *BAD["bytes"].values))
BAD["cuda"] = Bad(BAD["device"].types, ("cpu", "meta", torch.device("cpu"), *BAD["device"].values))

# Functions that can't be called as they will be are wrong as well.
FUNCTION_OF_NONE = Bad((*BAD["function"].types, lambda one: None))
FUNCTION_OF_ONE = Bad((*BAD["function"].types, lambda: None))
FUNCTION_OF_THREE = Bad((*BAD["function"].types, lambda one, two: None))


class Call(NamedTuple):
    """A public function with arguments that are right, and the kind of each argument. None: any value is right."""

    call: Callable[..., Any]
    right: dict[str, Any]
    kinds: dict[str, Any]


RANKS = {"group": "group", "agree": "flag", "timeout_s": "timeout"}
SIZES = {"size": 64, "floor": 1}
POOL: Any = object.__new__(ullage.Pool)  # what they need to be there, a device or a release, comes after their arguments
CACHE: Any = object.__new__(ullage.Cache)


NO_SLAB = Bad((5, "slab", 1 << 20, None), (torch.ones(4, 4).t(), torch.ones(4, device="meta"), torch.ones(4, 4).to_sparse()))


CALLS = {
    "retry_on_oom": Call(ullage.retry_on_oom, SIZES, {
        "function": "function", "size": Bad((True,), (0, -1, "x", 1.5, NAN, [64], torch.ones(2))), "floor": "positive",
        "shrink": FUNCTION_OF_ONE, "attempts": "positive", "key": "function", "before_retry": FUNCTION_OF_NONE,
        "argument": "text", **RANKS}),
    "microbatch": Call(ullage.microbatch, {"model": MODEL, "loss": len}, {
        "model": Bad((*BAD["module"].types, None)), "loss": "function", "size": "positive", "floor": "positive", "attempts": "positive",
        "reduction": Bad((5, None), ("none", "")), "weight": FUNCTION_OF_ONE, "backward": FUNCTION_OF_ONE, "samples": FUNCTION_OF_ONE,
        "take": FUNCTION_OF_THREE, "key": FUNCTION_OF_NONE, "overlap": "flag", **RANKS}),
    "find_batch_size": Call(ullage.find_batch_size, {"step": lambda size: None}, {
        "step": Bad((*FUNCTION_OF_ONE.types, None)), "state": Bad((*BAD["state"].types, None)), "min_size": "positive",
        "max_size": "positive", "multiple_of": "positive", "start": "positive", "steps": "positive", "trials": "positive",
        "margin": "share", "tolerance": "share", "limit": "size", "device": "cuda", **RANKS}),
    "preflight": Call(ullage.preflight, {"model": MODEL, "step": lambda *batch: None}, {
        "model": Bad((*BAD["module"].types, None, [])), "step": Bad((*FUNCTION_OF_NONE.types, None)), "optimizer": "optimizer",
        "batch": Bad((), (5, "x", [], {"a": 1}, torch.ones(()))), "others": Bad((*BAD["state"].types, None)), "limit": "size",
        "device": "cuda"}),
    "measure": Call(ullage.measure, {}, {"name": Bad((*BAD["text"].types, None)), "sites": "flag", "report": FUNCTION_OF_ONE}),
    "snapshot": Call(ullage.snapshot, {}, {"path": Bad((*BAD["path"].types, None), ("x.bin", ""))}),
    "release": Call(ullage.release, {}, {"objects": None, "flush": Bad((*BAD["flag"].types, None))}),
    "watch": Call(ullage.watch, {}, {
        "warm_up": "count", "steps": "positive", "min_growth_bytes": "size", "holders": "flag", "on_growth": FUNCTION_OF_ONE}),
    "step": Call(ullage.step, {}, {"name": Bad((*BAD["text"].types, None))}),
    "Watch": Call(ullage.Watch, dict(warm_up=1, steps=1, min_growth_bytes=1, holders=True, on_growth=None), {
        "warm_up": "count", "steps": "positive", "min_growth_bytes": "size", "holders": "flag", "on_growth": FUNCTION_OF_ONE}),
    "holders": Call(ullage.holders, {}, {
        "unnamed": None, "min_bytes": "bytes", "device": "device", "max_seconds": "seconds",
        "obj": Bad((5, 1.5, True, "x", b"x", None, 2j, ..., ()))}),
    "Pool": Call(ullage.Pool, {}, {
        "limit": Bad(BAD["size"].types, ("8", 8, 0, "1MiB", *BAD["bytes"].values)),
        "reserve": Bad(BAD["bytes"].types, ("1MiB", *BAD["bytes"].values)),
        "device": "cuda", "name": "text"}),
    "Pool.cache": Call(POOL.cache, {}, {"size": Bad(BAD["size"].types, (0, "x", -1))}),
    "Pool.run": Call(POOL.run, {}, {"fn": Bad((*BAD["function"].types, None)), "args": None, "kwargs": None}),
    "Cache": Call(ullage.Cache, {"slab": torch.ones(4)}, {"slab": NO_SLAB, "name": Bad((*BAD["text"].types, None))}),
    "Cache.empty": Call(CACHE.empty, {}, {"shape": None, "dtype": Bad((5, "float16", int))}),
    "Cache.zeros": Call(CACHE.zeros, {}, {"shape": None, "dtype": Bad((5, "float16", int))}),
    "Cache.kv": Call(CACHE.kv, dict(layers=1, batch=1, heads=1, length=1, dim=1), {
        **{name: "count" for name in ("layers", "batch", "heads", "length", "dim")}, "dtype": Bad((5, "float16", int))}),
    "limit": Call(ullage.limit, {"limit_bytes": "8GiB"}, {
        "limit_bytes": Bad((*BAD["size"].types, None), (0, 8, 1 << 20, *BAD["size"].values)), "device": "cuda"}),
    "fit": Call(ullage.fit, {"model": MODEL, "step": lambda model: None}, {
        "model": Bad((*BAD["module"].types, None)), "step": Bad((*FUNCTION_OF_ONE.types, None)), "args": None,
        "gpu": Bad((5, ["h200"], None)), "device_memory": "size", "steps": "positive", "alloc_conf": "text", "limit": "size",
        "remedies": Bad((5, [5], {"sgd": 1}, MODEL))}),
    "Series": Call(integrations.Series, {"target": print}, {
        "target": "log", "every_seconds": "seconds", "every_steps": "positive", "prefix": "text", "clock": FUNCTION_OF_NONE}),
    "Series.step": Call(integrations.Series(print).step, {}, {"step": "count"}),
}
CALLBACK = {"log": "log", "watch": "watch", "every_seconds": "seconds"}
CALLBACKS = {"AccelerateTracker": "accelerate", "LightningCallback": "lightning", "TransformersCallback": "transformers"}
# What functions return or raise; nobody else makes them.
RESULTS = {
    "__version__", "Fit", "FitError", "Growth", "GrowthWarning", "Holder", "Holders", "Measurement", "Preflight", "Release", "Limit",
    "PoolInUse", "PoolOutOfMemory", "RankError", "BatchSize",
}


def calls() -> dict[str, Call]:
    found = dict(CALLS)
    for name, library in CALLBACKS.items():
        if importlib.util.find_spec(library) is not None:
            found[name] = Call(getattr(integrations, name), {}, CALLBACK)
    return found


class Tables(unittest.TestCase):
    def test_every_public_name_is_in_one(self):
        self.assertEqual({name for name in CALLS if name in ullage._PUBLIC} | RESULTS, set(ullage._PUBLIC))
        self.assertEqual({"Series", *CALLBACKS}, set(integrations._PUBLIC))

    def test_every_parameter_is_in_one(self):
        for name, (call, _, kinds) in calls().items():
            with self.subTest(name):
                self.assertEqual(set(inspect.signature(call).parameters), set(kinds))


class Arguments(unittest.TestCase):
    def setUp(self):
        two = mock.patch.object(torch.cuda, "device_count", lambda: 2)  # which are not there when one is needed
        two.start()
        self.addCleanup(two.stop)

    def test_none_is_taken_that_is_wrong(self):
        for name, (call, right, kinds) in calls().items():
            for argument, kind in kinds.items():
                bad = BAD.get(kind, kind) if isinstance(kind, str) else kind or Bad(())
                for error, values in ((TypeError, bad.types), (ValueError, bad.values)):
                    for value in values:
                        with self.subTest(f"{name}({argument}={value!r})"):
                            self.refused(error, argument, lambda: call(**{**right, argument: value}))

    def refused(self, error, argument, call):
        with self.assertRaises(error) as caught:
            call()
        text = str(caught.exception)
        self.assertIs(type(caught.exception), error, text)
        self.assertRegex(text, rf"\b{argument}\b|what .* decorates is|what is to log is")
        self.assertNotIn("\n", text)
        self.assertLess(len(text), 300)


class RightOnes(unittest.TestCase):
    """What people pass instead of a plain number is taken, and becomes one."""

    def test_whole_numbers(self):
        for five in (5, numpy.int64(5), numpy.uint8(5), torch.tensor(5), numpy.array(5), ullage.BatchSize(5, "", 0.0, 0, 0, 0, (), 0.0)):
            with self.subTest(type(five)):
                made = ullage.retry_on_oom(size=five, floor=five, attempts=five)
                self.assertEqual((made.size, made.floor, made.attempts), (5, 5, 5))
                self.assertEqual({type(made.size), type(made.floor), type(made.attempts)}, {int})

    def test_numbers_with_a_fraction(self):
        for half in (0.5, numpy.float32(0.5), torch.tensor(0.5), Fraction(1, 2)):
            with self.subTest(type(half)):
                self.assertEqual(integrations.Series(print, every_seconds=half).every_seconds, 0.5)
        self.assertEqual(integrations.Series(print, every_seconds=INF).every_seconds, INF)  # nothing but the first entry

    def test_amounts_of_memory(self):
        for amount in (8 << 30, "8GiB", "8 GiB", "8g", "8589934592", float(8 << 30), numpy.int64(8 << 30), torch.tensor(8 << 30)):
            with self.subTest(amount):
                self.assertEqual(pools._amounts(amount, amount), (8 << 30, 8 << 30))
                self.assertEqual(ullage.Watch(0, 1, amount, True, None).min_growth_bytes, 8 << 30)
        self.assertEqual(pools._amounts(None, 0), (None, 0))

    def test_switches(self):
        for yes in (True, 1, numpy.bool_(True), torch.tensor(True)):
            self.assertIs(ullage.Watch(0, 1, 1, yes, None).holders, True)

    def test_shapes_as_torch_takes_them(self):
        for shape in ((2, 3), ((2, 3),), ([2, 3],), (torch.Size((2, 3)),), (numpy.int64(2), torch.tensor(3))):
            self.assertEqual(caches._size(shape), torch.Size((2, 3)))
        self.assertEqual(caches._size(()), torch.Size(()))

    def test_functions_that_do_not_tell_their_arguments(self):
        for call in (print, max, OPTIMIZER.zero_grad, mock.Mock(), lambda **options: None):
            ullage.retry_on_oom(before_retry=call)


class Hints(unittest.TestCase):
    """Errors that say which other argument, or other value, was meant."""

    def test_all(self):
        identity = lambda piece: piece  # noqa: E731
        for call, text in (
            (lambda: ullage.retry_on_oom(5), r"decorates is 5, but has to be a function. hint: retry_on_oom\(size=...\)"),
            (lambda: ullage.retry_on_oom(floor=2), "floor is 2, but there is no size of a number .*hint: give size="),
            (lambda: ullage.retry_on_oom(size="x", shrink=identity, floor=2), "floor is 2, but there is no size of a number"),
            (lambda: ullage.retry_on_oom(argument="width"), "argument is 'width', but there is no size .*hint: give size="),
            (lambda: list(ullage.retry_on_oom(size=4, argument="width")), "argument is 'width', but a loop .*attempt.size"),
            (lambda: ullage.retry_on_oom(size=4)(5), "decorates is 5, but has to be a function"),
            (lambda: ullage.retry_on_oom(size=4, floor=5), "floor is 5, but has to be at most the size, 4"),
            (lambda: ullage.retry_on_oom(size=-1), "^size is -1"),
            (lambda: ullage.microbatch(len, MODEL), r"model is .*hint: microbatch\(model, loss\)"),
            (lambda: ullage.microbatch(MODEL, len, size="x"), "^size is 'x', but has to be a whole number, at least 1$"),
            (lambda: ullage.microbatch(MODEL, len, floor=0), "^floor is 0, but has to be a whole number, at least 1$"),
            (lambda: ullage.find_batch_size(identity, margin=5), "hint: a share, not percent"),
            (lambda: ullage.find_batch_size(identity, state=MODEL), r"state is a Linear, .*hint: state=\[...\]"),
            (lambda: ullage.find_batch_size(identity, min_size=9, max_size=8), "min_size is 9, but has to be at most max_size, 8"),
            (lambda: ullage.preflight(MODEL, OPTIMIZER, identity), r"hint: preflight\(model, step, optimizer\)"),
            (lambda: ullage.preflight(identity, MODEL), r"hint: preflight\(model, step, optimizer\)"),
            (lambda: ullage.preflight(MODEL, identity), "step is .*without arguments.*hint: batch="),
            (lambda: ullage.holders(MODEL), r"a Linear without a name. hint: holders\(obj=...\)"),
            (lambda: ullage.holders(obj=5), "obj is 5, .*holds no memory of tensors"),
            (lambda: ullage.holders(obj=MODEL, device=0), "device is given together with obj"),
            (lambda: ullage.release(True), "hint: flush= is given by its name"),
            (lambda: ullage.release("model"), "is 'model', but has to be the module"),
            (lambda: ullage.step(7), "hint: steps are counted here"),
            (lambda: ullage.measure(print), "hint: write @ullage.measure"),
            (lambda: ullage.measure("x")(5), "decorates is 5"),
            (lambda: ullage.Pool(8), "hint: a number counts bytes: write '8GiB'"),
            (lambda: ullage.limit(0.8), "hint: bytes, not a share of the device"),
            (lambda: ullage.limit(1.5e9 + 0.5), r"hint: int\(...\)"),
            (lambda: ullage.Pool("1GiB", "2GiB"), "reserve is 2.00 GiB, but has to be at most the limit, 1.00 GiB"),
            (lambda: ullage.Cache(1 << 20), r"hint: pool.cache\(size\)"),
            (lambda: CACHE.empty("x"), "shape is 'x'"),
            (lambda: CACHE.empty(2, -1), "shape is -1"),
            (lambda: CACHE.empty([2, 1.5]), "shape is 1.5"),
            (lambda: ullage.fit(MODEL, lambda: None), r"hint: fit\(model, step, \*args\)"),
            (lambda: integrations.Series(torch.utils.data.Dataset), "hint: an instance of it"),
        ):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                call()


class WithoutAGpu(unittest.TestCase):
    def test_each_says_so_once_its_arguments_are_right(self):
        with mock.patch.object(torch.cuda, "is_available", lambda: False):
            for name in ("find_batch_size", "preflight", "limit"):
                call, right, _ = CALLS[name]
                with self.subTest(name), self.assertRaisesRegex(RuntimeError, f"^{name} needs a CUDA device, and PyTorch finds none"):
                    call(**right)


if __name__ == "__main__":
    unittest.main()
