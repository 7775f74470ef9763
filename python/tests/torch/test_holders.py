"""Who holds which memory, on CPU tensors."""
import asyncio
import collections
import contextlib
import functools
import gc
import inspect
import json
import sys
import threading
import types
import unittest
import weakref
from unittest import mock

import torch
from torch import nn

from ullage._companion import dump
from ullage._holders import census, find, survey

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
        self.assertEqual(text, f"local 'outputs' of evaluate() at test_holders.py:{line}")

    def test_the_outermost_local_counts(self):
        def inner(passed):
            return [h.path for h in found()]

        trainer = Bag(losses=[big(), big()])
        self.assertEqual(inner(trainer), ["trainer.losses[…]"])

    def test_places_of_one_container(self):
        history = [big() for _ in range(300)]
        holder, = found()
        self.assertEqual((holder.path, holder.places, len(holder.storages), holder.size_bytes), ("history[…]", 300, 300, 300 * 4 * SIZE))
        where = r"\(local 'history' of .*test_places_of_one_container\(\) at test_holders\.py:\d+\)$"
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
        self.assertRegex(text, r"^local 'buffer' of generator .*batches\(\) at test_holders\.py:\d+, kept by local 'stream' of ")

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
        self.assertRegex(str(found()[0]), r"^local 'held' of coroutine .*work\(\) at test_holders\.py:\d+, kept by local 'task'")
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
            self.assertRegex(str(found()[0]), r"^mine\[0\] \(local 'mine' of .*work\(\) at test_holders\.py:\d+\)$")
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
        self.assertRegex(str(found()[0]), r"^local 'x' of .*forward\(\) at test_holders\.py:\d+, kept by box\[0\] \(local 'box' of ")
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
        self.assertRegex(text, r"^local 'x' of .*fail\(\) at test_holders\.py:\d+, kept by error\.__cause__ \(local 'error'")
        del error

    def test_last_traceback(self):
        error = self.stored()
        sys.last_traceback = error.__traceback__
        del error
        try:
            self.assertRegex(str(found()[0]), r"^local 'x' of .*forward\(\) at test_holders\.py:\d+, kept by sys\.last_traceback$")
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


class Modules(Case):
    def model(self):
        return nn.Sequential(collections.OrderedDict(
            body=nn.ModuleList([nn.Linear(100, 100, bias=False) for _ in range(3)]), head=nn.ModuleDict({"out": nn.Linear(100, 100)})))

    def test_parameters_go_by_their_module(self):
        net = self.model()
        net.register_buffer("table", big())
        params = list(net.parameters())
        places = {h.path: h.places for h in found(min_bytes=20000)}
        self.assertEqual(places, {"net.body[…].weight": 3, "net.head.out.weight": 1, "net.table": 1})
        del params

    def test_gradients_and_optimizer_state(self):
        net = self.model()
        optimizer = torch.optim.Adam(net.parameters())
        net.body[1](torch.ones(2, 100)).sum().backward()
        optimizer.step()
        holders = {h.path: h.kind for h in found(min_bytes=20000)}
        self.assertEqual(holders, {
            "net.body[…].weight": "python", "net.head.out.weight": "python", "net.body[1].weight.grad": "grad",
            "optimizer.state['exp_avg'] of net.body[1].weight": "optimizer",
            "optimizer.state['exp_avg_sq'] of net.body[1].weight": "optimizer"})

    def test_optimizer_alone(self):
        net = self.model()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        del net
        self.assertEqual([h.path for h in found(min_bytes=20000)], ["optimizer.param_groups[0]['params'][…]"])
        del optimizer

    def test_hooks(self):
        def hook_cache(module):
            cache = []
            module.register_forward_hook(lambda module, args, out: cache.append(big()))
            return hook_cache.__code__.co_firstlineno + 2

        net = self.model()
        line = hook_cache(net.body[2])
        recorder = Bag(seen=[big()])
        net.head.out.register_forward_pre_hook(types.MethodType(lambda self, module, args: None, recorder))
        net.body[2](torch.ones(1, 100))
        box = [net]
        del net, recorder
        texts = [str(h) for h in found() if len(h.storages) == 1 and h.size_bytes == 4 * SIZE]
        self.assertEqual(sorted(texts), [
            "Bag.seen[0] (object of the hook on box[0].head.out)",
            f"cache[0] (closure cell 'cache' of <lambda> at test_holders.py:{line}, hook on box[0].body[2])"])
        del box

    def test_a_module_that_holds_itself(self):
        gc.disable()
        self.addCleanup(gc.enable)
        def make():
            net = nn.Linear(100, 100, bias=False)
            net.again = lambda: net

        make()
        holder, = found(min_bytes=20000)
        self.assertEqual(holder.kind, "cycle")
        self.assertRegex(str(holder), r"Linear\.weight \(garbage, in a cycle of .*1 Linear")


class Garbage(Case):
    def setUp(self):
        super().setUp()
        gc.disable()
        self.addCleanup(gc.enable)

    def test_cycle(self):
        class Node:
            pass

        for _ in range(4):
            a, b = Node(), Node()
            a.peer, b.peer = b, a
            a.feat = big()
        del a, b
        holder, = found()
        self.assertEqual((holder.kind, holder.places), ("cycle", 4))
        self.assertRegex(str(holder), r"^[\w.]*Node\.feat × 4 \(garbage, in a cycle of 2 [\w.]*Node\)$")

    def test_what_hangs_from_a_cycle(self):
        ring = []
        ring.append(ring)
        ring.append({"deep": (big(),)})
        del ring
        self.assert_held("list[1]['deep'][0] (garbage, in a cycle of 1 list)")

    def test_a_cycle_that_something_holds_is_none(self):
        a = Bag(feat=big())
        a.me = a
        box = [a]
        del a
        self.assertEqual([(h.path, h.kind) for h in found()], [("box[0].feat", "python")])
        del box

    def test_an_exception_that_knows_its_own_frame(self):
        def fails():
            x = big()
            try:
                raise ValueError
            except ValueError as e:
                kept = e
            return x is kept

        fails()
        holder, = found()
        self.assertEqual(holder.kind, "cycle")
        self.assertRegex(str(holder), r"local 'x' of .*fails\(\) at .*, kept by .* \(garbage, in a cycle of ")

    def test_nothing_is_collected_by_looking(self):
        a = Bag(feat=big())
        a.me = a
        ref = weakref.ref(a)
        del a
        found()
        self.assertIsNotNone(ref())

    def test_the_collector_is_left_as_it_was(self):
        found()
        self.assertFalse(gc.isenabled())
        gc.enable()
        found()
        self.assertTrue(gc.isenabled())

    def test_nothing_of_a_search_stays(self):
        kept = big()
        found(), find.holders(obj=kept)
        gc.collect()
        before = len(gc.get_objects())
        for _ in range(3):
            found(), find.holders(obj=kept)
        self.assertLess(len(gc.get_objects()) - before, 50)
        self.assertEqual(gc.collect(), 0)


def wide(rows=200):
    return torch.zeros(rows, 100)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mine = big()
        ctx.save_for_backward(wide())
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


class Raises(torch.autograd.graph.saved_tensors_hooks):
    """Hooks that pack a tensor into something else, and must not be called to unpack it."""

    def __init__(self):
        super().__init__(lambda tensor: Bag(packed=(tensor.detach(), big())), self.unpack)

    def unpack(self, packed):
        raise AssertionError("unpacked")


class Graphs(Case):
    def setUp(self):
        super().setUp()
        self.net = nn.Sequential(nn.Linear(100, 40), nn.Sigmoid(), nn.Linear(40, 10), nn.Tanh())

    def graphs(self):
        holders = [h for h in found() if h.kind == "graph"]
        if not TELLS:
            self.assertTrue(any("PyTorch 2.4" in n for n in found().notes))
        return {h.path: (h.places, len(h.storages)) for h in holders}

    def test_saved_tensors_go_by_what_keeps_the_graph(self):
        history = [self.net(wide()).sum() for _ in range(5)]
        self.assertEqual(self.graphs(), {"graph of history[…]": (5, 10 if TELLS else 5)})  # with what was put in, if it is told
        del history

    def test_nodes_that_saved(self):
        total = {"loss": 0.0}
        for _ in range(3):
            total["loss"] = total["loss"] + self.net(wide()).sum()
        holder, = [h for h in found() if h.kind == "graph"]
        self.assertEqual(holder.path, "graph of total['loss']")
        if TELLS:
            self.assertEqual(holder.saved_by, {"AddmmBackward0": 3 * (80000 + 32000)})
            self.assertRegex(str(holder), r"^graph of total\['loss'\] \(local 'total' of .*; saved by AddmmBackward0\)$")

    def test_after_backward(self):
        out = self.net(wide()).sum()
        out.backward()
        self.assertEqual(self.graphs(), {})

    def test_what_a_name_reaches_goes_by_the_name(self):
        x = wide()
        out = self.net(x)
        self.assertIn("x", [h.path for h in found()])
        del out

    def test_attributes_of_ctx(self):
        out = Doubled.apply(self.net(wide(1)))
        texts = [str(h) for h in found()]
        self.assertIn("ctx.mine (DoubledBackward in graph of out (local 'out' of ", " ".join(texts))
        self.assertEqual(len(texts), 2, texts)
        del out

    def test_what_hooks_have_packed_is_not_unpacked(self):
        with Raises():
            out = self.net(wide())
        self.assertEqual(list(self.graphs()), ["graph of out"] if TELLS else [])

    def test_checkpointed(self):
        from torch.utils.checkpoint import checkpoint
        x = wide().requires_grad_()
        out = checkpoint(self.net, x, use_reentrant=False)
        self.assertEqual([h.path for h in found()], ["x"])
        out.sum().backward()
        self.assertEqual([h.path for h in found()], ["x", "x.grad"])

    def test_a_node_that_the_program_keeps(self):
        box = [self.net(wide()).grad_fn]
        if TELLS:
            self.assertEqual(self.graphs(), {"graph of box[0]": (1, 2)})
        del box

    def test_hooks_of_tensors_and_nodes(self):
        def watch(tensor):
            seen = [big()]
            tensor.register_hook(lambda grad: seen.append(grad))

        out = self.net(wide(1))
        watch(out)
        inner = self.net[0](wide(1))
        last = (inner * 2).sum()
        watch(inner)
        del inner
        self.assertEqual([(h.path, h.where.partition(" of ")[0]) for h in found()], [("seen[0]", "closure cell 'seen'")] * len(found()))
        self.assertEqual(sum(len(h.storages) for h in found()), 2)
        del last

    def test_garbage_graphs(self):
        gc.disable()
        self.addCleanup(gc.enable)
        node = Bag(out=self.net(wide()))
        node.me = node
        del node
        holders = [h for h in found() if h.kind == "cycle"]
        self.assertEqual({h.path for h in holders}, {"graph of Bag.out"})

    def test_while_a_node_is_being_run(self):
        """Backward holds the node's lock while it computes; looking at the node then must not wait for it."""
        from torch.utils._python_dispatch import TorchDispatchMode
        results = []

        class Look(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if "backward" in str(func):
                    results.append(found())
                return func(*args, **(kwargs or {}))

        out = self.net(wide()).sum()
        with Look():
            out.backward()
        self.assertGreaterEqual(len(results), 2)
        self.assertTrue(all(r.complete for r in results))


class Kinds(Case):
    """Tensors that are not what they seem."""

    def test_fake_and_meta_and_functional(self):
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            fake = torch.zeros(SIZE)
        meta, real = torch.zeros(SIZE, device="meta"), big()
        functional = torch._to_functional_tensor(real)
        self.assertEqual([h.path for h in found()], ["real"])
        del fake, meta, functional

    def test_wrappers_are_looked_into(self):
        class Wrapper(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape)

            def __init__(self, inner):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                raise AssertionError(func)

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise AssertionError(func)

        box = [Wrapper(big())]
        self.assertEqual([h.path for h in found()], ["box[0].inner"])
        del box

    def test_views_share_their_storage(self):
        box = [big()]
        box.append(box[0][:10])
        holder, = found()
        self.assertIn(holder.path, ("box[0]", "box[1]"))
        self.assertEqual((len(holder.storages), holder.size_bytes), (1, 4 * SIZE))
        del box[0]
        self.assertEqual([(h.path, h.size_bytes) for h in found()], [("box[0]", 4 * SIZE)])

    @unittest.skipUnless(hasattr(torch, "_lazy_clone"), "this release copies no storage on write")
    def test_copied_on_write(self):
        first = big()
        second = torch._lazy_clone(first)
        self.assertTrue(torch._C._is_cow_tensor(second))
        found(), find.holders(obj=second)
        self.assertTrue(torch._C._is_cow_tensor(second))

    def test_storages_without_tensors(self):
        box = {"untyped": big().untyped_storage()}
        self.assertEqual([h.path for h in found()], ["box['untyped']"])
        del box

    def test_sparse(self):
        box = [torch.eye(SIZE).to_sparse()]
        self.assertTrue(found().complete)
        del box


class Objects(Case):
    """All holders of one object."""

    def test_tensor(self):
        kept = big()
        box = Bag(a=[kept], b={"k": kept.view(-1, 10)})
        self.assertEqual(sorted(h.path for h in find.holders(obj=kept)), ["box.a[0]", "box.b['k']", "kept"])
        self.assertEqual(find.holders(obj=kept).size_bytes, 4 * SIZE)
        del box

    def test_any_object(self):
        thing = Bag()
        box = [thing, Bag(thing=thing)]
        holders = find.holders(obj=thing)
        self.assertEqual(sorted(h.path for h in holders), ["box[0]", "box[1].thing", "thing"])
        self.assertEqual((holders.size_bytes, [h.storages for h in holders]), (0, [(), (), ()]))
        self.assertRegex(str(holders), "^what refers to the object, which has no memory of its own:\n")
        del box

    def test_parameter(self):
        net = nn.Linear(3, 4)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        paths = [h.path for h in find.holders(obj=net.weight)]
        self.assertEqual(sorted(paths), ["net.weight", "optimizer.param_groups[0]['params'][0]"])

    def test_graph(self):
        kept = wide()
        out = nn.Linear(100, 3)(kept)
        holders = find.holders(obj=kept)
        self.assertEqual(sorted(h.path for h in holders), ["graph of out", "kept"] if TELLS else ["kept"])
        del out


class Limits(Case):
    def test_the_number_of_a_gpu_is_a_device(self):
        kept = big()
        self.assertEqual(len(find.holders(device=0, min_bytes=1)), 0)
        del kept
        with self.assertRaisesRegex(ValueError, "device is 'nowhere'"):
            find.holders(device="nowhere")

    def test_out_of_time(self):
        kept = [[big()]]
        holders = found(max_seconds=0)
        self.assertFalse(holders.complete)
        self.assertIn("before it had looked at all", holders.notes[0])
        self.assertEqual([h.kind for h in holders], ["unknown"])
        del kept

    def test_text(self):
        history = [big() for _ in range(3)]
        text = str(found()).splitlines()
        self.assertEqual(text[0], "58.59 KiB in 3 storages, by what holds them:")
        self.assertRegex(text[1], r"^ +58\.59 KiB  history\[…\] × 3 \(local 'history' of ")
        del history


def self_graph():
    return (wide(50).requires_grad_() * 1).square().sum()


class Census(Case):
    """What stands in the file beside a recording."""

    def take(self, **options):
        taken = census.take(torch, wanted=lambda memory: memory.size_bytes >= 4 * SIZE, **options)
        return json.loads(json.dumps(taken))

    def test_rows(self):
        history = [self_graph(), self_graph()]
        box = {"k": big()}
        taken = self.take()
        self.assertTrue(taken["complete"])
        rows = {row["path"]: row for row in taken["list"]}
        self.assertEqual(rows["box['k']"]["addresses"], [hex(box["k"].data_ptr())])
        self.assertEqual((rows["box['k']"]["device"], rows["box['k']"]["storages"], rows["box['k']"]["size_bytes"]), (0, 1, 4 * SIZE))
        if TELLS:
            row = rows["graph of history[…]"]
            self.assertEqual((row["kind"], row["places"]), ("graph", 2))
            self.assertEqual(row["saved_by"], {"PowBackward0": 8 * SIZE, "AccumulateGrad": 8 * SIZE})
        del history

    def test_lists_are_bounded(self):
        kept = {f"name {chr(97 + n)}": torch.zeros(SIZE + 100 * n) for n in range(5)}
        with mock.patch.object(census, "MAX_HOLDERS", 2), mock.patch.object(census, "MAX_STORAGES", 1):
            taken = self.take()
        self.assertEqual([row["path"] for row in taken["list"]], ["kept['name e']", "kept['name d']"])
        self.assertEqual([len(row["addresses"]) for row in taken["list"]], [1, 0])
        self.assertEqual(taken["unlisted_bytes"], 4 * (3 * SIZE + 300))
        del kept

    def test_never_raises(self):
        taken = census.take(types.SimpleNamespace())
        self.assertEqual((taken["complete"], taken["list"]), (False, []))
        self.assertIn("AttributeError", taken["problem"])

        def near_the_end(n):
            return census.take(torch) if n == 0 else near_the_end(n - 1)

        room, problems = sys.getrecursionlimit() - len(inspect.stack()), []
        for left in range(-2, 30):
            with contextlib.suppress(RecursionError):  # of the test's own function
                problems.append(near_the_end(room - left).get("problem", ""))
        self.assertTrue(any("RecursionError" in p for p in problems), problems)

    def test_a_limit_of_objects(self):
        kept = [[] for _ in range(10_000)]
        kept[-1].append([big()])
        taken = self.take(limits=survey.Limits(seconds=60, objects=100))
        self.assertFalse(taken["complete"])
        self.assertEqual(len(taken["notes"]), 1)
        del kept

    def test_beside_a_recording(self):
        self.assertEqual(dump.describe(torch, "snap", {}, "run", 1)["holders"]["complete"], True)


if __name__ == "__main__":
    unittest.main()
