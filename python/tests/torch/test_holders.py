"""Tensors of all kinds, all that refers to one object, and how far a search goes."""
import unittest

import torch
from holding import SIZE, TELLS, Bag, Case, big, found, wide
from torch import nn

from ullage._holders import find


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


if __name__ == "__main__":
    unittest.main()
