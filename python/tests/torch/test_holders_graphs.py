"""What graphs of autograd hold."""
import gc
import unittest

import torch
from holding import TELLS, Bag, Case, big, found, wide
from torch import nn


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


if __name__ == "__main__":
    unittest.main()
