"""find_batch_size on a device of main memory: the size, what it leaves behind, and what it says."""
import contextlib
import random
import sys
import unittest
from unittest import mock

import torch
from fakecuda import OutOfMemoryError
from oomcuda import OomCuda, Quiet, need

import ullage
from ullage._oom import batch, saved, trial

MIB = 1 << 20


class Training:
    """A small training loop with everything that has a state."""

    def __init__(self, width=128):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Dropout(), torch.nn.BatchNorm1d(width), torch.nn.ReLU(),
                                         torch.nn.Linear(width, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 0.9**step)
        self.width = width

    def step(self, size):
        self.optimizer.zero_grad()
        self.model.train()
        self.model(torch.randn(size, self.width)).square().mean().backward()
        self.optimizer.step()
        self.scheduler.step()

    @property
    def state(self):
        return [self.model, self.optimizer, self.scheduler]

    def fits(self, size):
        try:
            self.step(size)
            self.step(size)
        except OutOfMemoryError:
            return False
        return True


def true_maximum(total_bytes):
    low, high = 0, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        with OomCuda(total_bytes=total_bytes):
            low, high = (middle, high) if Training().fits(middle) else (low, middle)
    return low


class Finding(Quiet):
    def test_training_close_to_the_true_maximum(self):
        most = true_maximum(16 * MIB)
        with OomCuda(total_bytes=16 * MIB) as gpu:
            training = Training()
            found = ullage.find_batch_size(training.step, state=training.state)
            self.assertEqual(gpu.fraction, 1.0)
            self.assertEqual(torch.empty(int(found)).numel(), found.size)
        self.assertLessEqual(found.size, most)
        self.assertGreaterEqual(found.size, 0.97 * most)
        self.assertLessEqual(len(found.trials), 6)
        self.assertEqual([t.fits for t in found.trials if t.size <= found.size], [True] * sum(t.size <= found.size for t in found.trials))
        self.assertRegex(str(found), rf"batch size {found.size} \(.*; peak 1\d\.\d\d MiB allocated of 1\d\.\d\d MiB, \d trials")

    def test_every_trial_begins_without_the_states_that_the_run_begins_without(self):
        with OomCuda(total_bytes=16 * MIB):
            training, states = Training(), []

            def step(size):
                states.append((size, bool(training.optimizer.state)))
                training.step(size)

            found = ullage.find_batch_size(step, state=training.state)
        self.assertGreater(len(found.trials), 1)
        for t in found.trials:
            self.assertEqual([there for size, there in states if size == t.size], [False, True, True][: 3 if t.fits else 1])

    def test_the_optimizers_memory_does_not_hide_the_batchs(self):
        """States and gradients of a wide model are far above what a few samples need: only the phase before the optimizer grows."""
        with OomCuda(total_bytes=64 * MIB):
            training = Training(width=1024)
            found = ullage.find_batch_size(training.step, state=training.state)
        first = found.trials[0]
        self.assertGreaterEqual(first.phases_bytes[1], first.phases_bytes[0])
        self.assertGreater(found.size, 1000)
        self.assertLessEqual(len(found.trials), 6)

    def test_inference_within_a_limit(self):
        model = torch.nn.Linear(256, 256)
        with OomCuda(total_bytes=256 * MIB), torch.no_grad():
            found = ullage.find_batch_size(lambda size: model(torch.ones(size, 256)), limit=8 * MIB, margin=0, multiple_of=8)
        self.assertEqual(found.size % 8, 0)
        self.assertLessEqual(found.peak_reserved_bytes, 8 * MIB)
        self.assertGreater(found.size, 0.99 * (8 * MIB - 256 * 1024) / (2 * 1024) - 8)

    def test_releases_that_do_not_tell_their_limit(self):
        with OomCuda(total_bytes=64 * MIB) as gpu, mock.patch.object(trial, "_can_limit", lambda: False):
            found = ullage.find_batch_size(need, limit=256 << 10)
            self.assertEqual(gpu.fraction, 1.0)
        self.assertTrue(0.95 * 256 <= found.size <= 256, found)

    def test_bounds_and_reasons(self):
        with OomCuda(total_bytes=512 << 10):
            self.assertRegex(ullage.find_batch_size(need, max_size=100).reason, "the largest size asked for")
            self.assertRegex(ullage.find_batch_size(need).reason, "more than there is|does not fit")
            used_up = ullage.find_batch_size(need, trials=2)
            self.assertRegex(used_up.reason, "the 2 trials are used up; up to 5.. might fit")
            for wrong in (dict(min_size=0), dict(min_size=9, max_size=15, multiple_of=8), dict(margin=1), dict(steps=0), dict(trials=0)):
                with self.subTest(wrong), self.assertRaises(ValueError):
                    ullage.find_batch_size(need, **wrong)
            with self.assertRaisesRegex(TypeError, "state has 3, which can't be put back"):
                ullage.find_batch_size(need, state=[3])

    def test_a_step_that_has_not_run_is_no_step(self):
        async def coroutine(size):
            need(size)

        def generator(size):
            need(size)
            yield

        with OomCuda(total_bytes=512 << 10):
            for step, error in ((coroutine, "step returned a coroutine, and so has not run"), (generator, "step returned a generator")):
                with self.subTest(error), self.assertRaisesRegex(TypeError, error):
                    ullage.find_batch_size(step)

    def test_a_step_that_does_not_use_its_size_is_told_of(self):
        with OomCuda(total_bytes=512 << 10), self.assertLogs("ullage", "WARNING") as logs:
            found = ullage.find_batch_size(lambda size: need(8), max_size=4096)
        self.assertRegex(found.reason, "largest size asked for; what is allocated on cuda:0 did not grow with it")
        self.assertIn("the result says nothing of memory", logs.output[0])
        with OomCuda(total_bytes=512 << 10), self.assertNoLogsOf("WARNING"):
            self.assertNotIn("did not grow", ullage.find_batch_size(need, max_size=100).reason)

    @contextlib.contextmanager
    def assertNoLogsOf(self, level):
        with mock.patch.object(batch.log, level.lower()) as told:
            yield
        told.assert_not_called()

    def test_nothing_fits(self):
        training = Training()
        before = [p.clone() for p in training.model.parameters()]
        with OomCuda(total_bytes=200 << 10), self.assertRaises(OutOfMemoryError) as caught:
            ullage.find_batch_size(training.step, state=training.state, min_size=2)
        if sys.version_info >= (3, 11):
            self.assertRegex(caught.exception.__notes__[0], r"no size that fits into 1\d\d.\d\d KiB \(tried 4, 2\)")
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(before, training.model.parameters())))

    def test_without_a_gpu(self):
        with mock.patch.object(torch.cuda, "is_available", lambda: False), self.assertRaisesRegex(RuntimeError, "PyTorch finds none"):
            ullage.find_batch_size(need)

    def test_an_optimizer_that_was_not_given_is_told_of(self):
        with OomCuda(total_bytes=64 * MIB), self.assertLogs("ullage", "WARNING") as logs:
            training = Training()
            ullage.find_batch_size(training.step, state=[training.model], max_size=8)
        self.assertRegex(logs.output[0], r"\(AdamW\) that isn't in state=")


class Restoring(Quiet):
    def snapshot(self, training):
        return [t.clone() for t in (*training.model.parameters(), *training.model.buffers())]

    def assert_equal(self, training, before):
        for now, then in zip(self.snapshot(training), before):
            self.assertTrue(torch.equal(now, then))

    def test_training_goes_on_as_if_nothing_had_been(self):
        want, got = Training(), Training()
        for training in (want, got):
            torch.manual_seed(4)
            for _ in range(2):
                training.step(3)
        with OomCuda(total_bytes=16 * MIB):
            addresses = [p.data_ptr() for p in got.model.parameters()]
            rng, pythons = torch.get_rng_state(), random.getstate()
            got.model.eval()
            found = ullage.find_batch_size(lambda size: (got.step(size), random.random()), state=got.state)
            self.assertGreater(len(found.trials), 2)
        self.assertFalse(any(m.training for m in got.model.modules()))
        self.assertTrue(torch.equal(rng, torch.get_rng_state()))
        self.assertEqual(pythons, random.getstate())
        self.assertEqual(addresses, [p.data_ptr() for p in got.model.parameters()])
        self.assertEqual(got.scheduler.state_dict(), want.scheduler.state_dict())
        for training in (want, got):
            torch.manual_seed(5)
            training.step(3)
        self.assert_equal(got, self.snapshot(want))

    def test_states_that_were_not_there_are_gone(self):
        with OomCuda(total_bytes=16 * MIB):
            training = Training()
            ullage.find_batch_size(training.step, state=training.state)
        self.assertEqual((len(training.optimizer.state), training.optimizer.param_groups[0]["lr"]), (0, 0.1))
        self.assertTrue(all(p.grad is None for p in training.model.parameters()))

    def test_after_an_error_of_the_step(self):
        with OomCuda(total_bytes=16 * MIB) as gpu:
            training = Training()
            before = self.snapshot(training)

            def step(size):
                training.step(size)
                raise KeyError("the step's own")

            with self.assertRaisesRegex(KeyError, "own"):
                ullage.find_batch_size(step, state=training.state)
            self.assertEqual(gpu.fraction, 1.0)
        self.assert_equal(training, before)

    def test_every_kind_of_optimizer_state(self):
        for make in (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: torch.optim.Adam(p, amsgrad=True),
                     lambda p: torch.optim.LBFGS(p, max_iter=2), torch.optim.Adagrad):
            model = torch.nn.Linear(4, 1)
            optimizer = make(model.parameters())

            def step():
                optimizer.zero_grad()
                loss = model(torch.ones(2, 4)).square().mean()
                loss.backward()
                optimizer.step(lambda: loss)

            step()
            want = [p.clone() for p in model.parameters()]
            undo = saved.save([model, optimizer])
            step()
            after = [p.clone() for p in model.parameters()]
            step()
            for one in reversed(undo):
                one()
            self.assertTrue(all(torch.equal(p, w) for p, w in zip(model.parameters(), want)))
            step()
            self.assertTrue(all(torch.equal(p, a) for p, a in zip(model.parameters(), after)), type(optimizer).__name__)

    def test_half_precision_keeps_the_type_of_its_states(self):
        parameter = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        optimizer.state[parameter] = {"master": torch.full((4,), 1.001), "step": 3}
        undo = saved.save([optimizer])[0]
        optimizer.state[parameter]["master"].zero_()
        optimizer.state[parameter]["step"] = 4
        undo()
        self.assertEqual(optimizer.state[parameter]["master"].dtype, torch.float32)
        self.assertEqual((optimizer.state[parameter]["master"][0].item(), optimizer.state[parameter]["step"]), (torch.tensor(1.001).item(), 3))

    def test_a_scaler_that_broke_off_can_go_on(self):
        with OomCuda():  # before torch 2.3 a scaler is off where there is no GPU
            scaler = torch.amp.GradScaler("cpu") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()
        undo = saved.save([scaler])[0]
        scaler._per_optimizer_states[1]["stage"] = "unscaled"
        undo()
        self.assertEqual(len(scaler._per_optimizer_states), 0)

    def test_gradients(self):
        a, b, c = (torch.nn.Parameter(torch.ones(3)) for _ in range(3))
        for grads in ((None, None, None), (torch.zeros(3), None, torch.zeros(3)), (torch.ones(3), None, torch.zeros(3))):
            for p, g in zip((a, b, c), grads):
                p.grad = None if g is None else g.clone()
            undo = saved.save_gradients([a, b, c])
            for p in (a, b, c):
                p.grad = torch.full((3,), 9.0) if p.grad is None else p.grad.add_(9)
            undo()
            for p, g in zip((a, b, c), grads):
                self.assertEqual(p.grad is None, g is None)
                self.assertTrue(g is None or torch.equal(p.grad, g))


if __name__ == "__main__":
    unittest.main()
