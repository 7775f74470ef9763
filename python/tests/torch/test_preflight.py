"""preflight() on a GPU of main memory: its figures against what real steps take there, and that nothing is left changed."""
import copy
import json
import random
import unittest
from unittest import mock

import torch
import fakecuda

import ullage
from ullage._measure import settings, states
from ullage._measure.largest import Sizes
from ullage._measure.rehearsal import Step
from ullage._oom import failure, saved, split
from ullage._torch import memory

torch.set_num_threads(1)
MIB, GIB = 1 << 20, 1 << 30


class FakeCuda(fakecuda.FakeCuda):
    """Copies in main memory are copies in main memory here too: they don't count."""

    counting = True

    def count(self, storage):
        if self.counting:
            super().count(storage)

    def __enter__(self):
        self._stack.enter_context(mock.patch.object(saved, "_host", self._copy))
        return super().__enter__()

    def _copy(self, tensor, original=saved._host):
        self.counting = False
        try:
            return original(tensor)
        finally:
            self.counting = True


def net(width=512):
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(width, width))


class Training:
    """A model, its optimizer, and a step of it."""

    def __init__(self, make=lambda p: torch.optim.AdamW(p), width=512, batch=256):
        self.model = net(width)
        self.optimizer = make(self.model.parameters())
        self.batch = torch.ones(batch, width)

    def step(self, batch=None):
        x = self.batch if batch is None else batch
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def peak_at_step(self, number):
        for _ in range(number):
            memory.reset_peaks()
            self.step()
        return memory.read().peak_allocated_bytes


def everything(training):
    return [t.clone() for t in (*training.model.parameters(), *training.model.buffers())]


class Peaks(unittest.TestCase):
    def check(self, make, **kwargs):
        with FakeCuda():
            training = Training(make, **kwargs)
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertTrue(found.measured and found.fits, found)
            self.assertEqual(found.later_peak_bytes, training.peak_at_step(3))
            return found

    def test_the_third_step_of_adamw(self):
        self.check(torch.optim.AdamW, batch=16)  # here the optimizer's own step is the peak
        found = self.check(torch.optim.AdamW, batch=2048)
        self.assertGreater(found.later_peak_bytes, found.first_peak_bytes)

    def test_the_third_step_of_sgd(self):
        self.check(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), batch=2048)
        self.assertEqual(self.check(lambda p: torch.optim.SGD(p, lr=0.1)).states_bytes, 0)

    def test_computed_where_a_second_step_has_no_room(self):
        with FakeCuda():
            first = Training(batch=2048).peak_at_step(1)
        with FakeCuda():
            later = Training(batch=2048).peak_at_step(3)
        with FakeCuda(total_bytes=(first + later) // 2):
            training = Training(batch=2048)
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertEqual((found.measured, found.fits, found.error), (False, False, None))
            self.assertAlmostEqual(found.later_peak_bytes, later, delta=64 << 10)
            self.assertLess(found.free_bytes, 0)
            self.assertIn("it will run out of memory once there are optimizer states", str(found))
            smaller = ullage.preflight(training.model, training.step, training.optimizer, batch=training.batch)
            self.assertTrue(1024 < smaller.largest_batch < 2048, smaller)
            self.assertRegex(str(found), "are lacking of the")

    def test_a_step_that_does_not_fit_at_all(self):
        with FakeCuda() as gpu:
            training = Training(batch=2048)
            memory.collect()
            gpu.total_bytes = gpu.allocated_bytes + MIB
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertEqual((found.fits, found.later_peak_bytes, found.free_bytes, found.largest_batch), (False, None, None, None))
            self.assertIn("CUDA out of memory", found.error)
            self.assertIn("the first step runs out of memory", str(found))

    def test_an_optimizer_that_the_step_does_not_step(self):
        with FakeCuda():
            training = Training()

            def accumulate():
                training.model(training.batch).sum().backward()
                training.optimizer.zero_grad()

            found = ullage.preflight(training.model, accumulate, training.optimizer)
            parameters = sum(p.numel() * 4 for p in training.model.parameters())
            self.assertEqual((found.measured, found.states_bytes), (False, 2 * parameters))
            self.assertIn("did not step AdamW", found.notes[0])

    def test_a_second_step_unlike_the_first(self):
        with FakeCuda(total_bytes=64 * MIB):
            training, calls = Training(), []

            def step():
                calls.append(1)
                training.step(torch.ones(256 if len(calls) == 1 else 16_384, 512))

            found = ullage.preflight(training.model, step, training.optimizer)
            self.assertEqual((found.fits, found.measured), (False, False))
            self.assertIn("CUDA out of memory", found.error)
            self.assertIn("a second step ran out of memory though", str(found))

    def test_a_step_elsewhere(self):
        elsewhere = torch.nn.Linear(1, 1)
        with FakeCuda(), self.assertRaisesRegex(RuntimeError, "allocated nothing on cuda:0"):
            ullage.preflight(elsewhere, lambda: None)

    def test_a_limit(self):
        with FakeCuda():
            training = Training()
            found = ullage.preflight(training.model, training.step, training.optimizer, limit=100 * MIB)
            self.assertEqual(found.capacity_bytes, 100 * MIB)


class Batches(unittest.TestCase):
    WIDTH, TOTAL = 128, 4 * MIB

    def largest(self, batch):
        with FakeCuda(total_bytes=self.TOTAL):
            training = Training(width=self.WIDTH, batch=batch)
            return ullage.preflight(training.model, training.step, training.optimizer, batch=training.batch)

    def fits(self, size):
        with FakeCuda(total_bytes=self.TOTAL):
            training = Training(width=self.WIDTH, batch=size)
            try:
                for _ in range(3):
                    training.step()
            except fakecuda.OutOfMemoryError:
                return False
            return True

    def test_the_largest_is_the_largest(self):
        for batch in (8, 64, 400, 800):
            found = self.largest(batch)
            self.assertTrue(self.fits(int(found.largest_batch * 0.99)), found)
            self.assertFalse(self.fits(int(found.largest_batch * 1.01) + 1), found)
            self.assertEqual(found.batch_size, batch)
        self.assertRegex(str(found), r"samples in the largest batch that fits, about; a step with [\d,]+ ran")

    def test_from_below_where_the_batch_given_does_not_fit(self):
        found = self.largest(4096)
        self.assertEqual((found.fits, found.batch_size), (False, 4096))
        self.assertTrue(self.fits(int(found.largest_batch * 0.99)), found)
        self.assertFalse(self.fits(int(found.largest_batch * 1.02) + 1), found)

    def test_what_fits_only_right_after_a_flush_does_not_count(self):
        with FakeCuda(total_bytes=self.TOTAL) as gpu:
            training, sizes = Training(width=self.WIDTH, batch=64), []

            def step(x):
                sizes.append(len(x))
                if len(sizes) > 1 and sizes[-2] == len(x) > 64:  # pieces that an earlier step left are in the way
                    gpu._fail(512)
                training.step(x)

            found = ullage.preflight(training.model, step, training.optimizer, batch=training.batch)
        self.assertGreater(max(sizes), 64)
        self.assertEqual(found.tried_batch, 64)

    def test_a_peak_that_does_not_depend_on_the_batch(self):
        step = Step(True, 100, 1000, 900, 1000, 100, 50, 0, 0)
        sizes = Sizes([torch.ones(8, 2)], 8, 0, lambda size: step, 10_000)
        sizes.search([step, step])
        self.assertIsNone(sizes.largest())
        self.assertIn("does not grow with the batch", sizes.notes[0])

    def test_batches_of_any_form(self):
        batch = {"x": torch.arange(6).reshape(3, 2), "y": [torch.tensor(1.5), "text"]}
        larger = split.resize(batch, 7)
        self.assertEqual(larger["x"][:, 0].tolist(), [0, 2, 4, 0, 2, 4, 0])
        self.assertEqual(larger["y"], batch["y"])
        self.assertEqual(split.resize(batch, 2)["x"].tolist(), [[0, 1], [2, 3]])


class Undoing(unittest.TestCase):
    def test_nothing_is_left_changed(self):
        with FakeCuda() as gpu:
            training = Training()
            training.model.append(torch.nn.BatchNorm1d(512))
            training.model[2].eval()
            torch.manual_seed(3)
            random.seed(3)
            before, held = everything(training), gpu.allocated_bytes
            expected = (torch.rand(3), random.random())
            torch.manual_seed(3)
            random.seed(3)
            ullage.preflight(training.model, training.step, training.optimizer)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, everything(training))))
            self.assertTrue(torch.equal(torch.rand(3), expected[0]))
            self.assertEqual(random.random(), expected[1])
            self.assertEqual(dict(training.optimizer.state), {})
            self.assertTrue(all(p.grad is None for p in training.model.parameters()))
            self.assertEqual([m.training for m in training.model], [True, True, False, True, True])
            del expected
            self.assertLessEqual(gpu.allocated_bytes, held)

    def test_states_and_gradients_that_exist(self):
        with FakeCuda():
            training = Training()
            training.step()
            training.model(training.batch).sum().backward()
            state = copy.deepcopy(training.optimizer.state_dict())
            grads = [p.grad.clone() for p in training.model.parameters()]
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertTrue(all(torch.equal(a, p.grad) for a, p in zip(grads, training.model.parameters())))
            after = training.optimizer.state_dict()
            self.assertEqual(after["param_groups"], state["param_groups"])
            for key, held in state["state"].items():
                self.assertTrue(all(torch.equal(held[k], after["state"][key][k]) for k in held))
            self.assertEqual(found.states_bytes, states.held_bytes([training.optimizer], 0))

    def test_an_error_of_the_step(self):
        with FakeCuda():
            training = Training()
            before = everything(training)

            def step():
                training.step()
                raise KeyError("labels")

            with self.assertRaisesRegex(KeyError, "labels"):
                ullage.preflight(training.model, step, training.optimizer)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, everything(training))))

    def test_a_batch_that_can_not_be_cut_only_costs_the_largest(self):
        model = torch.nn.Linear(4, 2)
        batch = [torch.ones(4) for _ in range(8)]  # a list of samples, which is cut along the samples' own dimension

        def step(samples):
            model(torch.stack(samples)).sum().backward()

        for broken in (None, "CUDA error: an illegal memory access was encountered"):
            with FakeCuda(), mock.patch.object(failure, "broken", lambda: broken), self.subTest(broken):
                if broken:
                    with self.assertRaisesRegex(RuntimeError, "shapes"):
                        ullage.preflight(model, step, batch=batch)
                    continue
                found = ullage.preflight(model, step, batch=batch)
                self.assertTrue(found.fits)
                self.assertIsNone(found.largest_batch)
                self.assertRegex(" ".join(found.notes), r"the largest batch is not known: .*\(RuntimeError: .*shapes.*\)")

    def test_an_optimizer_that_was_not_given_is_found_and_put_back(self):
        with FakeCuda():
            training = Training()
            found = ullage.preflight(training.model, training.step)
            self.assertEqual(dict(training.optimizer.state), {})
            self.assertGreater(found.states_bytes, 0)

    def test_parameters_of_another_model_are_refused_before_they_change(self):
        with FakeCuda():
            training, other = Training(), net()
            before = everything(training)
            with self.assertRaisesRegex(ValueError, "a AdamW with 4 parameters of another model.*hint: give all models"):
                ullage.preflight(other, training.step)
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, everything(training))))


class Warnings(unittest.TestCase):
    def rules(self, found):
        return [w.rule for w in found.warnings]

    def test_an_evaluation_with_a_graph(self):
        with FakeCuda():
            model, x = net().eval(), torch.ones(8, 512)
            found = ullage.preflight(model, lambda: model(x).argmax())
            self.assertEqual(self.rules(found), ["leak/eval-without-no-grad"])
            with torch.inference_mode():
                self.assertEqual(self.rules(ullage.preflight(model, lambda: model(x))), [])
            # Training with layers in evaluation mode is no mistake.
            self.assertEqual(self.rules(ullage.preflight(model, lambda: model(x).sum().backward())), [])

    def test_convolutions_of_many_shapes(self):
        shapes = iter([8, 16, 8, 16])
        model = torch.nn.Conv2d(3, 4, 3)
        with FakeCuda(), torch.backends.cudnn.flags(enabled=True, benchmark=True):
            found = ullage.preflight(model, lambda: model(torch.ones(1, 3, 32, next(shapes))).sum().backward())
            self.assertEqual(self.rules(found), ["peak/cudnn-benchmark"])

    def test_a_full_device_and_others_on_it(self):
        with FakeCuda():
            peak = Training().peak_at_step(3)
        with FakeCuda(total_bytes=int(peak / 0.95)):
            training = Training()
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertTrue(found.fits)
            self.assertIn("oom/true-shortage", self.rules(found))
        with FakeCuda(total_bytes=8 * GIB) as gpu:
            gpu.outside_bytes = 3 * GIB
            gpu.fraction = 0.5
            training = Training()
            found = ullage.preflight(training.model, training.step, training.optimizer)
            self.assertEqual(self.rules(found), ["oom/fraction-cap", "oom/other-process"])
            self.assertIn("3.00 GiB of the device are in use outside", str(found))

    def test_a_step_that_keeps_something(self):
        with FakeCuda():
            training, kept = Training(), []
            found = ullage.preflight(training.model, lambda: kept.append(training.step()), training.optimizer)
            self.assertEqual(self.rules(found), ["leak/too-short-to-tell"])

    def test_settings_without_effect(self):
        def rules(version, environ, in_force=None, limit=None):
            return [w.rule for w in settings.check(version, environ, in_force, limit)]

        old, new = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"
        expandable, gc = "expandable_segments:True", "garbage_collection_threshold:0.8"
        self.assertEqual(rules("2.8.0+cu128", {new: expandable}), ["conf/ignored-variable"])
        self.assertEqual(rules("2.11.0", {new: expandable}, in_force=expandable), [])
        self.assertEqual(rules("2.11.0", {new: expandable}, in_force=""), ["conf/ignored-variable"])
        self.assertEqual(rules("2.11.0", {new: expandable, old: gc}, limit=1), ["conf/ignored-variable"])
        self.assertEqual(rules("2.1.0", {old: gc}), ["conf/inert-gc"])
        self.assertEqual(rules("2.1.0", {old: gc}, limit=1 << 30), [])
        self.assertEqual(rules("2.15.0", {old: "backend:cudaMallocAsync"}), ["conf/async-backend"])
        self.assertEqual(rules("2.15.0", {}), [])


class States(unittest.TestCase):
    def test_what_optimizers_keep_is_what_was_computed(self):
        def of(name, **options):
            return lambda p: getattr(torch.optim, name)(p, lr=0.01, **options)

        makers = [
            of("SGD"), of("SGD", momentum=0.9), of("Adam"), of("AdamW", amsgrad=True), of("NAdam"), of("RAdam"), of("Adamax"),
            of("Adagrad"), of("Adadelta"), of("RMSprop"), of("RMSprop", momentum=0.9, centered=True), of("Rprop"), of("ASGD"),
        ]
        if hasattr(torch.optim, "Adafactor"):
            makers.append(of("Adafactor"))
        for make in makers:
            with FakeCuda():
                training = Training(make, width=100, batch=2)
                expected = states.expected_bytes(training.optimizer)
                training.step()
                self.assertEqual(states.held_bytes([training.optimizer], 0), expected, training.optimizer)

    def test_a_class_that_is_not_known(self):
        class Own(torch.optim.Optimizer):
            def __init__(self, p):
                super().__init__(p, {})

        self.assertIsNone(states.expected_bytes(Own([torch.nn.Parameter(torch.ones(1))])))


class Asking(unittest.TestCase):
    def test_for_json(self):
        with FakeCuda():
            training = Training()
            found = ullage.preflight(training.model, training.step, training.optimizer, batch=training.batch)
            data = json.loads(json.dumps(found.as_dict()))
            self.assertEqual((data["later_peak_bytes"], data["free_bytes"]), (found.later_peak_bytes, found.free_bytes))

    def test_without_a_gpu(self):
        with mock.patch.object(torch.cuda, "is_available", lambda: False), self.assertRaisesRegex(RuntimeError, "hint: `ullage fit`"):
            ullage.preflight(net(), lambda: None)


if __name__ == "__main__":
    unittest.main()
