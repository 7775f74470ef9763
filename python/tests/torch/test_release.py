"""release() on a GPU of main memory: what goes, what stays whole, and who is named for what is still there."""
import json
import sys
import unittest

import torch
from fakecuda import FakeCuda

import ullage

torch.set_num_threads(1)
MIB = 1 << 20


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Linear(512, 512)
        self.head = torch.nn.Linear(512, 256)
        self.register_buffer("mask", torch.ones(1024))

    def forward(self, x):
        return self.head(self.encoder(x).relu())


def trained(net):
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.ones(4, 512)).sum().backward()
    optimizer.step()
    return optimizer


REGISTRY = {}


class Letting(unittest.TestCase):
    def test_a_model_with_its_optimizer(self):
        with FakeCuda() as gpu:
            net = Net()
            optimizer = trained(net)
            held = gpu.allocated_bytes
            released = ullage.release(net, optimizer)
            self.assertTrue(released.complete, released)
            self.assertEqual(gpu.allocated_bytes, 0)
            self.assertGreater(released.freed_bytes, 0.99 * held)
            self.assertEqual(released.freed_bytes, released.held_bytes)
            self.assertGreaterEqual(released.given_back_bytes, held)
            self.assertIn("Net(", repr(net))  # what remains can still be printed
            self.assertEqual(list(net.parameters()), [])

    def test_a_list_and_a_dict_of_tensors(self):
        with FakeCuda() as gpu:
            outputs = [torch.ones(1024) for _ in range(4)]
            cache = {"a": torch.ones(2048), "b": [torch.ones(1024)]}
            self.assertEqual(ullage.release(outputs, cache).freed_bytes, 4 * (4 * 1024 + 2048 + 1024))
            self.assertEqual((outputs, cache, gpu.allocated_bytes), ([], {}, 0))

    def test_a_plain_object_keeps_what_is_no_tensor(self):
        class Trainer:
            def __init__(self):
                self.net, self.name, self.steps = Net(), "trainer", [1, 2, 3]

        with FakeCuda() as gpu:
            trainer = Trainer()
            self.assertTrue(ullage.release(trainer).complete)
            self.assertEqual((trainer.net, trainer.name, trainer.steps, gpu.allocated_bytes), (None, "trainer", [1, 2, 3], 0))

    def test_a_cycle_goes_with_the_collector(self):
        with FakeCuda() as gpu:
            net = Net()
            net.encoder.owner = [net.encoder]
            released = ullage.release(net)
            self.assertTrue(released.complete)
            self.assertEqual(gpu.allocated_bytes, 0)
            self.assertRegex(released.notes[0], "went with the garbage collection: they were held by a cycle")

    def test_the_frames_of_the_last_error(self):
        def failing(net):
            encoder = net.encoder
            raise ValueError(encoder.in_features)

        with FakeCuda() as gpu:
            net = Net()
            try:
                failing(net)
            except ValueError as error:
                sys.last_value = error
            try:
                released = ullage.release(net)
            finally:
                del sys.last_value
            self.assertTrue(released.complete, released)
            self.assertRegex(str(released), "went with the frames of the last error")
            self.assertEqual(gpu.allocated_bytes, 0)


class Staying(unittest.TestCase):
    def test_what_others_share_stays_whole_and_is_named(self):
        with FakeCuda():
            net, other = Net(), Net()
            other.encoder = net.encoder
            REGISTRY["probe"] = net.head.weight.detach()
            try:
                released = ullage.release(net)
                self.assertEqual(released.alive_bytes, (512 * 512 + 512 + 256 * 512) * 4)
                self.assertEqual(released.freed_bytes, (256 + 1024) * 4)
                self.assertEqual(other(torch.ones(1, 512)).shape, (1, 256))
                self.assertEqual(REGISTRY["probe"].shape, (256, 512))
                names = {h.name: released.holders()[h.address] for h in released.alive}
                self.assertIn("REGISTRY['probe']", names["Net.head.weight"])
                self.assertIn("other.encoder.weight", names["Net.encoder.weight"])
                self.assertIn("REGISTRY['probe']", str(released))
                data = json.loads(json.dumps(released.as_dict()))
                self.assertEqual(sum(row["bytes"] for row in data["alive"]), released.alive_bytes)
            finally:
                REGISTRY.clear()
            del other
            self.assertTrue(released.check().complete)

    def test_an_optimizer_that_was_not_given(self):
        with FakeCuda():
            net = Net()
            optimizer = trained(net)
            released = ullage.release(net)
            self.assertFalse(released.complete)
            self.assertIn("optimizer", str(released))
            optimizer.zero_grad()

    def test_a_tensor_goes_with_the_last_name(self):
        with FakeCuda() as gpu:
            logits = torch.ones(MIB // 4)
            released = ullage.release(logits)
            self.assertEqual((released.alive_bytes, released.complete), (MIB, False))
            self.assertRegex(str(released), r"local 'logits' of .*test_a_tensor_goes_with_the_last_name")
            with ullage.release(logits) as released:
                del logits
            self.assertTrue(released.complete, released)
            self.assertEqual(gpu.allocated_bytes, 0)

    def test_what_went_since_the_check_is_said_to_be_gone(self):
        tensor = torch.zeros(1000)
        released = ullage.release(tensor)
        del tensor
        self.assertEqual(released.holders(), {})
        self.assertIn("Tensor, by nothing any more: it went since", str(released))

    def test_what_holds_no_tensors_by_its_nature(self):
        net = Net()
        for wrong in ("net", 3, Net, a_function):
            with self.assertRaisesRegex(TypeError, "what release.* was given is"):
                ullage.release(net, wrong)
        self.assertEqual(len(list(net.parameters())), 4)
        self.assertTrue(ullage.release().complete)
        self.assertTrue(ullage.release(None).complete)

    def test_the_cache_is_left_where_asked(self):
        with FakeCuda() as gpu:
            ullage.release(Net(), flush=False)
            self.assertEqual(gpu.flushes, 0)


def a_function():
    pass


if __name__ == "__main__":
    unittest.main()
