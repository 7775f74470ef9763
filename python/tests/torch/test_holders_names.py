"""How what holds a tensor is named: through containers, variables of all kinds, and the frames of errors."""
import asyncio
import collections
import functools
import sys
import threading
import types
import unittest
import weakref

import torch
from holding import SIZE, Bag, Case, Slotted, big, found

from ullage._holders import find

Pair = collections.namedtuple("Pair", "left right")


class Containers(Case):
    """One tensor in a local variable named box, by whatever lies between."""

    def paths(self, box):
        return [h.path for h in found()]

    def module(self):
        module = types.ModuleType("made")
        module.kept = big()
        return module

    def test_containers(self):
        for make, want in (
            (lambda: [0, big()], "box[1]"),
            (lambda: (big(),), "box[0]"),
            (lambda: {"a": {3: big()}}, "box['a'][3]"),
            (lambda: {(1, None): big()}, "box[(1, None)]"),
            (lambda: {big(): 1}, "a key of box"),
            (lambda: {Slotted(1): big()}, "box[<Slotted>]"),
            (lambda: {torch.float32: big()}, "box[torch.float32]"),
            (lambda: {"x" * 100: big()}, "box['" + "x" * 38 + "…]"),
            (lambda: collections.deque([1, 2, big()], maxlen=3), "box[2]"),
            (lambda: collections.OrderedDict(x=big()), "box['x']"),
            (lambda: collections.defaultdict(list, x=[big()]), "box['x'][0]"),
            (lambda: collections.ChainMap({}, {"k": big()}), "box.maps[1]['k']"),
            (lambda: Pair(1, big()), "box.right"),
            (lambda: {big()}, "box{…}"),
            (lambda: frozenset([big()]), "box{…}"),
            (lambda: Bag(one=Bag(two=[big()])), "box.one.two[0]"),
            (lambda: Slotted(big()), "box.kept"),
            (lambda: functools.partial(print, 1, big()), "box.args[1]"),
            (lambda: functools.partial(print, end=big()), "box.keywords['end']"),
            (lambda: [big()].append, "box.__self__[0]"),
            (lambda: Bag(t=big()).__eq__, "box.__self__.t"),
            (lambda: types.MappingProxyType({"k": big()}), "box → inside mappingproxy['k']"),
            (lambda: iter([big()]), "box → inside list_iterator[0]"),
            (lambda: self.module(), "box.kept"),
        ):
            with self.subTest(want):
                self.assertEqual(self.paths(make()), [want])

    def test_what_shows_itself_in_ways_of_its_own_is_not_asked(self):
        class Proud:
            def __getattribute__(self, name):
                raise AssertionError(name)

            def __repr__(self):
                raise AssertionError("repr")

            def __eq__(self, other):
                raise AssertionError("eq")

            def __hash__(self):
                return 1

        class List(list):
            def __iter__(self):
                raise AssertionError("iter")

            def __len__(self):
                raise AssertionError("len")

        class Dict(dict):
            def items(self):
                raise AssertionError("items")

            def __getitem__(self, key):
                raise AssertionError("getitem")

        box = Proud()
        object.__setattr__(box, "kept", List([Dict({Proud(): big()})]))
        self.assertEqual(self.paths(box), ["box.kept[0][<Proud>]"])

    def test_a_long_way_is_shortened(self):
        path, = self.paths(functools.reduce(lambda inner, _: [inner, 1], range(3000), big()))
        self.assertIn("steps", path)
        self.assertLess(len(path), 300)


class Names(Case):
    def test_locals(self):
        def evaluate():
            outputs = big()
            return str(found()[0]), outputs

        text, _ = evaluate()
        line = evaluate.__code__.co_firstlineno + 2
        self.assertEqual(text, f"local 'outputs' of evaluate() at test_holders_names.py:{line}")

    def test_the_outermost_local_counts(self):
        def inner(passed):
            return [h.path for h in found()]

        trainer = Bag(losses=[big(), big()])
        self.assertEqual(inner(trainer), ["trainer.losses[…]"])

    def test_places_of_one_container(self):
        history = [big() for _ in range(300)]
        holder, = found()
        self.assertEqual((holder.path, holder.places, len(holder.storages), holder.size_bytes), ("history[…]", 300, 300, 300 * 4 * SIZE))
        where = r"\(local 'history' of .*test_places_of_one_container\(\) at test_holders_names\.py:\d+\)$"
        self.assertRegex(str(holder), r"^history\[…\] × 300 " + where)
        self.assertEqual(len({s.address for s in holder.storages}), len(history))

    def test_what_differs_only_is_left_open(self):
        box = Bag(parts=[Bag(kept=[big(), big()]), Bag(kept=[1])])
        self.assertEqual([h.path for h in found()], ["box.parts[0].kept[…]"])
        del box

    def test_global_of_another_module(self):
        module = types.ModuleType("made.cache")
        module.kept = {"a": big()}
        sys.modules["made.cache"] = module
        self.addCleanup(sys.modules.pop, "made.cache")
        del module
        self.assert_held("made.cache.kept['a']")

    def test_globals_of_no_module(self):
        names = {"found": lambda: [str(h) for h in found()]}
        exec("kept = [None]\ndef f():\n    return kept", names)
        names["kept"][0] = big()
        function = names["f"]
        del names
        self.assert_held("kept[0] (global 'kept' of f())")
        del function

    def test_closure(self):
        def make():
            cache = [big()]

            def hook():
                return cache

            return hook

        hook = make()
        self.assert_held("cache[0] (closure cell 'cache' of hook())")
        del hook

    def test_default_arguments(self):
        def f(a, acc=big(), *, more={"k": big()}):
            pass

        self.assert_held("default argument 'acc' of f()", "more['k'] (default argument 'more' of f())")
        del f

    def test_attribute_of_a_function(self):
        def f():
            pass

        f.cache = {1: big()}
        self.assertEqual([h.path for h in found()], ["f.cache[1]"])

    def test_class_attribute(self):
        class Model:
            cache = [big()]

        box = Model()
        self.assertRegex(found()[0].path, r"Model\.cache\[0\]$")
        del box

    def test_lru_cache(self):
        @functools.lru_cache(maxsize=4)
        def load(n):
            return big()

        load(1)
        self.assertEqual([h.path for h in found()], ["lru_cache of load"])

    def test_bound_method(self):
        callback = types.MethodType(lambda self: None, Bag(t=[big()]))
        self.assertEqual([h.path for h in found()], ["callback.__self__.t[0]"])
        del callback

    def test_generators(self):
        def batches():
            buffer = big()
            yield 1
            return buffer

        stream = batches()
        next(stream)
        text, = map(str, found())
        self.assertRegex(text, r"^local 'buffer' of generator .*batches\(\) at test_holders_names\.py:\d+, kept by local 'stream' of ")

    def test_coroutines(self):
        @types.coroutine
        def wait():
            yield

        async def work():
            held = big()
            await wait()
            return held

        task = work()
        task.send(None)
        self.assertRegex(str(found()[0]), r"^local 'held' of coroutine .*work\(\) at test_holders_names\.py:\d+, kept by local 'task'")
        task.close()

    def test_async_generators(self):
        async def stream():
            held = big()
            yield held.shape

        async def main():
            source = stream()
            await source.__anext__()
            texts = list(map(str, found()))
            await source.aclose()
            return texts

        text, = asyncio.run(main())
        self.assertRegex(text, r"^local 'held' of async generator .*stream\(\) at .*, kept by local 'source' of ")

    def test_a_running_loop_over_a_generator(self):
        def batches():
            hidden = big()
            yield 1
            del hidden

        for _ in batches():
            texts = list(map(str, found()))
        self.assertEqual(len(texts), 1)
        self.assertRegex(texts[0], r"^local 'hidden' of generator .*batches\(\) at .*, kept by generator \(held by no name")

    def test_threads(self):
        ready, over = threading.Event(), threading.Event()

        def work():
            mine = [big()]
            ready.set()
            over.wait()
            del mine

        thread = threading.Thread(target=work)
        thread.start()
        ready.wait()
        try:
            self.assertRegex(str(found()[0]), r"^mine\[0\] \(local 'mine' of .*work\(\) at test_holders_names\.py:\d+\)$")
        finally:
            over.set()
            thread.join()

    def test_weak_references_hold_nothing(self):
        kept = big()
        table = weakref.WeakValueDictionary(a=kept)
        ref, keys = weakref.ref(kept), weakref.WeakKeyDictionary({Slotted(1): 1})
        self.assertEqual([h.path for h in find.holders(obj=kept)], ["kept"])
        del table, ref, keys

    def test_a_value_of_a_weak_key_dictionary_is_held(self):
        key = Slotted(1)
        table = weakref.WeakKeyDictionary({key: big()})
        path, = [h.path for h in found()]
        self.assertRegex(path, r"^table\.data\[<(ReferenceType|weakref)>\]$")
        del table

    def test_notebook_results(self):
        names = sys.modules["__main__"].__dict__
        value = {7: big()}
        names.update(Out=value, _oh=value, _7=value[7], _=value[7], __=value[7])
        del value
        try:
            self.assert_held("Out[7]")
        finally:
            for name in ("Out", "_oh", "_7", "_", "__"):
                del names[name]


class Errors(Case):
    def fail(self, depth=2):
        x = big()
        if depth == 0:
            raise KeyError("inner")
        return x

    def stored(self):
        def forward():
            x = big()
            raise ValueError(x.shape)

        try:
            forward()
        except ValueError as e:
            return e

    def test_stored_exception(self):
        box = [self.stored()]
        self.assertRegex(str(found()[0]), r"^local 'x' of .*forward\(\) at test_holders_names\.py:\d+, kept by box\[0\] \(local 'box' of ")
        del box

    def test_chain(self):
        def outer():
            try:
                Errors.fail(self, 0)
            except KeyError as e:
                raise RuntimeError("outer") from e

        try:
            outer()
        except RuntimeError as e:
            error = e
        text, = [str(h) for h in found() if "'x'" in h.where]
        self.assertRegex(text, r"^local 'x' of .*fail\(\) at test_holders_names\.py:\d+, kept by error\.__cause__ \(local 'error'")
        del error

    def test_last_traceback(self):
        error = self.stored()
        sys.last_traceback = error.__traceback__
        del error
        try:
            self.assertRegex(str(found()[0]), r"^local 'x' of .*forward\(\) at test_holders_names\.py:\d+, kept by sys\.last_traceback$")
        finally:
            del sys.last_traceback

    def test_handled(self):
        try:
            Errors.fail(self, 0)
        except KeyError:
            self.assertRegex(str(found()[0]), r"^local 'x' of .*fail\(\) at .*, kept by the exception being handled$")

    def test_locals_are_not_kept_alive_by_having_been_read(self):
        x = big()
        ref = weakref.ref(x)
        found()
        del x
        self.assertIsNone(ref())


if __name__ == "__main__":
    unittest.main()
