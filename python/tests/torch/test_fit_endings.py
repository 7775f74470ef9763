"""How programs end under `ullage fit`: by an error, of whose fault, by hard exits, forked, and without a step of an optimizer."""
import os
import tempfile
import unittest

import torch
from fitrun import IS_OLD, Run

torch.set_num_threads(1)

TRAIN = """
import multiprocessing, os, torch
def train(device="cuda"):
    net = torch.nn.Linear(1000, 1000).to(device)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(9):
        net(torch.ones(8, 1000, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def steps(run):
    return sum(step["what"] == "optimizer" for step in run.of("step"))


if not IS_OLD:

    class Faults(unittest.TestCase):
        """Whose fault an error is, and at which line of the program's own."""

        def check(self, line, fault, where="program.py:2"):
            end = Run(f"import torch; torch.ones(1, device='cuda')\n{line}").end
            self.assertEqual((end["reason"], end["fault"], end.get("where")), ("error", fault, where), end)

        def test_a_file(self):
            self.check("torch.load('/none/weights.pt')", "file")

        def test_a_command(self):
            self.check("import subprocess; subprocess.check_output(['nvidia-smi-of-nobody'])", "command")
            self.check("import subprocess; subprocess.run('true', cwd='/none/here')", "file")

        def test_waiting_for_a_value(self):
            waits = "import ullage._fit.values as values; values.READS = 50\nx = torch.randn(1, device='cuda')\nwhile x.sum().item() != 3: x = x + 1"
            end = Run(f"import torch\n{waits}").end
            self.assertEqual((end["reason"], end["fault"], end["where"]), ("error", "unsupported", "program.py:4"), end)
            self.assertIn("it is always 1.0 here", end["message"])

        def test_another_torch(self):
            with tempfile.TemporaryDirectory() as folder:
                with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as f:
                    f.write("tensor = list")
                problem = Run(f"import sys; sys.path.insert(0, {folder!r})\nimport torch").problem
                self.assertEqual(problem["kind"], "torch")
                self.assertIn(f"imports {os.path.join(folder, 'torch.py')} as torch, which is not PyTorch", problem["message"])

        def test_the_network(self):
            self.check("import urllib.request; urllib.request.urlopen('http://127.0.0.1:9/x', timeout=9)", "network")

        def test_an_extension(self):
            self.check("import ctypes; ctypes.CDLL('libcudart.so.none')", "extension")

        def test_another_gpu(self):
            self.check("torch.ones(1, device='cuda:1')", "unsupported")

        def test_wrapped_by_the_program(self):
            program = "try: torch.ones(1, device='cuda:1')\nexcept RuntimeError as e: raise ValueError('no') from e"
            self.check(program, "unsupported", "program.py:3")

        def test_the_programs_own(self):
            self.check("raise ValueError('learning rate')", "program")

        def test_before_torch(self):
            for program, fault, where in (("import nothing_of_this_name", "module", "1"), ("print(1)\ndef f(:", "program", "2"), ("open('/none/x')", "file", "1")):
                problem = Run(program).problem
                self.assertEqual((problem["kind"], problem["fault"]), ("program", fault))
                self.assertIn(f"failed at program.py:{where}, before it imported torch: ", problem["message"])

        def test_caught(self):
            run = Run("import torch\ntorch.ones(1, device='cuda')\ntry: torch.ones(1, device='cuda:3')\nexcept Exception: pass")
            self.assertEqual(run.end["reason"], "ended")
            self.assertIn("asked for GPU 3", run.end["caught"])

    class Endings(unittest.TestCase):
        def test_hard_exit_writes_the_end(self):
            run = Run(TRAIN + "\ntorch.ones(9, device='cuda')\nos._exit(3)")
            self.assertEqual((run.status, run.end["reason"], run.end["status"], len(run.of("op"))), (3, "ended", 3, 1))

        def test_killed_leaves_the_steps_so_far(self):
            kill = "import signal\nstep = torch.optim.Adam.step\ntorch.optim.Adam.zero_grad = lambda self: os.kill(os.getpid(), signal.SIGKILL)\ntrain()"
            run = Run(TRAIN + kill)
            self.assertEqual((run.status, run.of("end"), steps(run)), (-9, [], 1))

        def test_weights_updated_by_hand_are_stopped(self):
            run = Run(
                """
                import torch
                w = torch.ones(100, 100, device="cuda", requires_grad=True)
                while True:
                    (w @ w).sum().backward()
                    with torch.no_grad():
                        w -= 0.1 * w.grad
                        w.grad = None
                """
            )
            self.assertEqual((run.status, run.end["reason"], run.end["steps"]), (0, "backward", 0))

        def test_inference_without_no_grad_is_stopped(self):
            run = Run("import torch\nnet = torch.nn.Linear(9, 9).cuda()\nwhile True: net(torch.ones(9, 9, device='cuda'))")
            self.assertEqual((run.status, run.end["reason"], run.end["calls"]), (0, "calls", 100))

        def test_a_thread_ends_without_a_traceback(self):
            run = Run(TRAIN + "import threading\nt = threading.Thread(target=train)\nt.start()\nt.join()")
            self.assertEqual((run.status, steps(run), run.end["reason"]), (0, 3, "steps"))
            self.assertNotIn("Traceback", run.err)

        def test_a_forked_child_is_traced(self):
            run = Run(TRAIN + "p = multiprocessing.get_context('fork').Process(target=train)\np.start()\np.join()\nraise SystemExit(p.exitcode)")
            self.assertEqual((run.status, steps(run)), (0, 3), run.err)
            self.assertEqual(sorted(end["reason"] for end in run.of("end")), ["ended", "steps"])

        def test_a_helper_that_is_forked_leaves_nothing(self):
            run = Run(TRAIN + "if os.fork() == 0: os._exit(0)\nos.wait()\ntrain()")
            self.assertEqual([end["reason"] for end in run.of("end")], ["steps"])

        def test_cuda_is_not_for_children_forked_after_its_use(self):
            run = Run(TRAIN + "torch.ones(1, device='cuda')\nif os.fork() == 0: train()\nos.wait()")
            self.assertIn("Cannot re-initialize CUDA in forked subprocess", run.err)
            self.assertEqual([end["reason"] for end in run.of("end")], ["ended"])

    class Saving(unittest.TestCase):
        """No file of the user's is lost to a prediction."""

        def run_in(self, folder, lines):
            program = "import os, torch, pathlib\nnet = torch.nn.Linear(600, 600).cuda()\n" + lines
            run = Run(f"import os; os.chdir({folder!r})\n" + program)
            self.assertEqual(run.status, 0, run.err)
            return run

        def test_a_checkpoint_that_is_there_stays(self):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "best.pt")
                torch.save({"weeks": 3}, path)
                lines = (
                    "torch.save(net.state_dict(), 'best.pt')\nassert torch.load('best.pt')['weight'].shape == (600, 600)\n"
                    "torch.save(net.state_dict(), 'part')\nassert os.path.exists('part')\nos.replace('part', pathlib.Path('best.pt'))\n"
                    "assert not os.path.exists('part')\nnet.load_state_dict(torch.load('best.pt', map_location='cuda'))"
                )
                lines += (  # as fsspec writes, and Lightning by it
                    "\nimport io\nbuffer = io.BytesIO()\ntorch.save(net, buffer)\nopen('temporary', 'wb').write(buffer.getvalue())\nos.rename('temporary', 'best.pt')"
                    "\nassert torch.load('best.pt', weights_only=False).weight.device.type == 'cuda'"
                )
                run = self.run_in(folder, lines)
                self.assertEqual(torch.load(path), {"weeks": 3})
                self.assertEqual(os.listdir(folder), ["best.pt"])
                self.assertTrue([n for n in run.of("note") if n["what"] == "save" and "best.pt was not kept" in n["text"]])

        def test_a_new_one_is_there_for_the_program(self):
            with tempfile.TemporaryDirectory() as folder:
                lines = (
                    "os.mkdir('a')\ntorch.save(net, 'a/new.pt')\ntorch.save(net, 'a/new.pt')\nassert os.path.getsize('a/new.pt') > 0\nos.rename('a', 'b')\n"
                    "os.rename('b/new.pt', 'b/last.pt')\nassert torch.load('b/last.pt', weights_only=False).weight.device.type == 'cuda'"
                )
                self.run_in(folder, lines)

        def test_what_has_its_contents_is_written(self):
            with tempfile.TemporaryDirectory() as folder:
                self.run_in(folder, "torch.save({'step': torch.ones(3)}, 'state.pt')")
                self.assertEqual(torch.load(os.path.join(folder, "state.pt"))["step"].tolist(), [1, 1, 1])

        def test_errors_are_those_of_torch(self):
            with tempfile.TemporaryDirectory() as folder:
                self.run_in(folder, "try: torch.save(net, 'none/x.pt')\nexcept RuntimeError as e: assert 'Parent directory' in str(e)\nelse: assert 0")


if __name__ == "__main__":
    unittest.main()
