"""Traces of small programs: what was born and died, where, and how the program ended."""
import unittest

import torch
from fitrun import IS_OLD, Run, live_bytes

from ullage._fit import start
from ullage._fit.config import Problem

torch.set_num_threads(1)

TRAINING = """
    import torch
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 512)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(100):
        x = torch.randn(64, 512).to("cuda")
        y = model(x)
        loss = (y + y.relu() * 2).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


class TooOld(unittest.TestCase):
    def test_a_torch_without_fake_cuda_tensors_is_told(self):
        class Old:
            __version__ = "2.9.1+cu128"

        with self.assertRaises(Problem) as caught:
            start._require(Old)
        self.assertEqual(caught.exception.kind, "torch")
        self.assertIn("2.10", caught.exception.hint)

    def test_versions_that_will_do(self):
        for version in ("2.10.0", "2.11.0+cu130", "2.15.0", "3.0.0a1"):
            start._require(type("Torch", (), {"__version__": version}))


if IS_OLD:

    class Old(unittest.TestCase):
        def test_the_program_is_not_run_for_real(self):
            run = Run("import torch\nprint('went on')\n")
            self.assertEqual((run.status, run.out, run.problem["kind"]), (1, "", "torch"))
            self.assertEqual(run.left, ["reported", "torch"])

else:

    class Training(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.run_of = Run(TRAINING)

        def test_ends_after_the_steps_that_were_asked_for(self):
            run = self.run_of
            self.assertEqual((run.status, run.err), (0, ""))
            self.assertEqual((run.end["reason"], run.end["steps"]), ("steps", 3))
            self.assertEqual([s["n"] for s in run.of("step")], [1, 2, 3])

        def test_parameters_first_in_the_order_of_conversion(self):
            sizes = [storage[1] for op in self.run_of.ops()[:4] for storage in op["new"]]
            self.assertEqual(sizes, [512 * 1024 * 4, 1024 * 4, 512 * 1024 * 4, 512 * 4])

        def test_what_dies_was_born_and_nothing_twice(self):
            history = live_bytes(self.run_of.lines)
            self.assertGreater(max(history), 4 * 4 * (512 * 1024 * 2))  # weights, gradients and two states, and activations
            self.assertEqual(history[-1], live_bytes(self.run_of.lines)[-1])

        def test_gradients_are_added_where_the_first_one_lies(self):
            # y has two uses, so its gradients are added once a step: into memory that is there already.
            added = [op for op in self.run_of.named("aten.add.Tensor") if op["p"] == "b"]
            self.assertEqual(len(added), 3)
            self.assertEqual([op.get("new") for op in added], [None] * 3)

        def test_threads_and_phases(self):
            products = {(op.get("t", 0), op["p"]) for op in self.run_of.named("aten.mm.default")}
            self.assertEqual(products, {(1, "b")})
            lists = {op["p"] for op in self.run_of.ops() if op["sig"]["op"].startswith("aten._foreach_")}
            self.assertEqual(lists, {"o"})

        def test_optimizers_use_lists_as_on_a_gpu(self):
            self.assertTrue(self.run_of.named("aten._foreach_addcdiv_.ScalarList"))

        def test_stacks_lead_to_the_program(self):
            frames = {f["id"]: f for f in self.run_of.of("frame")}
            stacks = {s["id"]: s["f"] for s in self.run_of.of("stack")}
            gelu = self.run_of.named("aten.gelu.default")[0]
            names = [(frames[f]["file"].rsplit("/", 1)[-1], frames[f]["line"]) for f in stacks[gelu["k"]]]
            self.assertEqual(names[-1], ("program.py", 7))
            self.assertFalse([name for name, _ in names if name in ("mode.py", "modules.py", "fake_tensor.py")])

        def test_modules_by_path(self):
            modules = {m["id"]: (m["name"], m["class"]) for m in self.run_of.of("module")}
            self.assertEqual(modules[self.run_of.named("aten.gelu.default")[0]["m"]], ("1", "GELU"))

        def test_what_lives_is_named(self):
            tags = {(t["as"], t["name"]) for t in self.run_of.of("tag")}
            self.assertLessEqual({("param", "0.weight"), ("grad", "2.bias"), ("state", "0.weight.exp_avg_sq")}, tags)

        def test_device_and_settings(self):
            meta = self.run_of.of("meta")[0]
            self.assertEqual((meta["device"]["name"], meta["devices"]), ("NVIDIA H200", 1))
            settings = {s["name"]: s["value"] for s in self.run_of.of("set")}
            self.assertEqual((settings["cudnn.benchmark"], settings["cudnn.enabled"]), (False, True))

    class Endings(unittest.TestCase):
        def test_an_error_of_the_program(self):
            run = Run("import torch\nx = torch.ones(3, device='cuda')\ndef f():\n    raise KeyError('lost')\nf()\n")
            self.assertEqual(run.status, 1)
            self.assertEqual({k: run.end[k] for k in ("reason", "error", "where", "fault")}, {"reason": "error", "error": "KeyError", "where": "program.py:4", "fault": "program"})

        def test_another_gpu_than_is_shown(self):
            run = Run("import torch\ntorch.ones(3, device='cuda:1')\n")
            self.assertEqual((run.end["reason"], run.end["fault"]), ("error", "unsupported"))
            self.assertIn("GPU 1", run.end["message"])

        def test_no_step_at_all(self):
            run = Run("import torch\nmodel = torch.nn.Linear(4, 4).cuda()\n")
            self.assertEqual((run.status, run.end["reason"], run.end["steps"], run.end["calls"]), (0, "ended", 0, 0))

        def test_calls_of_a_model_that_is_not_trained(self):
            run = Run(
                """
                import torch
                model = torch.nn.Linear(4, 4).cuda().eval()
                with torch.inference_mode():
                    for _ in range(10):
                        model(torch.ones(2, 4, device="cuda"))
                """,
                {"calls": 2},
            )
            self.assertEqual((run.status, run.end["reason"], run.end["calls"]), (0, "calls", 2))

        def test_a_program_that_evaluates_before_it_trains_is_waited_for(self):
            run = Run(
                """
                import torch
                model = torch.nn.Linear(4, 4).cuda()
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
                with torch.no_grad():
                    for _ in range(20):
                        model(torch.ones(2, 4, device="cuda"))
                for _ in range(10):
                    model(torch.ones(2, 4, device="cuda")).sum().backward()
                    optimizer.step()
                """
            )
            self.assertEqual((run.status, run.end["reason"], run.end["steps"], run.end["calls"]), (0, "steps", 3, 20))

        def test_tokens_that_are_generated_are_waited_for(self):
            run = Run(
                """
                import torch
                model = torch.nn.Linear(4, 4).cuda().eval()
                def generate(tokens):
                    with torch.no_grad():
                        for _ in range(tokens):
                            model(torch.ones(2, 4, device="cuda"))
                generate(20)
                for _ in range(10):
                    with torch.no_grad():
                        model(torch.ones(2, 4, device="cuda"))
                """
            )
            self.assertEqual((run.status, run.end["reason"], run.end["calls"]), (0, "calls", 21))

        def test_replays_of_a_graph_are_steps(self):
            run = Run(
                """
                import torch
                model = torch.nn.Linear(64, 64).cuda()
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
                x = torch.ones(2, 64, device="cuda")
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    model(x).sum().backward()
                    optimizer.step()
                for _ in range(10):
                    graph.replay()
                """
            )
            self.assertEqual((run.status, run.end["reason"], run.end["steps"]), (0, "steps", 3), run.err)
            self.assertEqual([n["what"] for n in run.of("note")], ["graph"])
            self.assertTrue(all(op.get("s") for op in run.named("aten.sum.default")))

        def test_a_program_that_catches_everything_is_ended(self):
            run = Run(
                """
                import torch
                model = torch.nn.Linear(4, 4).cuda()
                optimizer = torch.optim.SGD(model.parameters(), 0.1)
                while True:
                    try:
                        optimizer.zero_grad()
                        model(torch.ones(2, 4, device="cuda")).sum().backward()
                        optimizer.step()
                    except BaseException:
                        pass
                """
            )
            self.assertEqual((run.status, run.end["reason"], run.end["steps"]), (0, "steps", 3))

        def test_no_torch(self):
            run = Run("print('{\"ran\": true}')\n")
            self.assertEqual((run.said(), run.left, run.lines), ({"ran": True}, ["reported"], []))


if __name__ == "__main__":
    unittest.main()
