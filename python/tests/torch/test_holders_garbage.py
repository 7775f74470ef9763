"""What nothing but itself holds, and what a search leaves behind."""
import gc
import unittest
import weakref

from holding import Bag, Case, big, found

from ullage._holders import find


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


if __name__ == "__main__":
    unittest.main()
