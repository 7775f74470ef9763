"""What programs do with a GPU that is not there: it goes through, and reads what the documentation of the trace says."""
import unittest

import torch
from fitrun import IS_OLD, Run

torch.set_num_threads(1)

if not IS_OLD:

    class Values(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.run_of = Run(
                """
                import json, torch
                big = torch.randn(1000, 1000, device="cuda")  # its values nobody knows
                lengths = torch.tensor([3, 1, 2]).cuda()      # and these the program itself has made
                mask = torch.arange(3, device="cuda")[None] < lengths[:, None]
                loss = (big * big).mean()
                said = {
                    "loss": loss.item(), "float": float(loss), "format": f"{loss:.2f}", "count": big.argmax().item(),
                    "finite": bool(torch.isfinite(big).all()), "nan": bool(torch.isnan(big).any()), "array": big[:2, :2].cpu().numpy().tolist(),
                    "longest": lengths.max().item(), "mask": mask.tolist(), "tokens": mask.nonzero().shape[0],
                    "repeated": torch.repeat_interleave(lengths).tolist(), "picked": lengths[lengths > 1].tolist(), "all": list(big[big > 0].shape),
                }
                lengths += 1
                said["after"] = lengths.tolist()
                lengths *= big[0, 0].long()
                said["lost"] = lengths[0].item()
                print(json.dumps(said))
                """
            )
            cls.said = cls.run_of.said()

        def test_stand_ins(self):
            want = {"loss": 1.0, "float": 1.0, "format": "1.00", "count": 0, "finite": True, "nan": False, "array": [[1.0, 1.0], [1.0, 1.0]]}
            self.assertEqual({k: self.said[k] for k in want}, want)

        def test_values_of_the_program_itself_are_kept(self):
            mask = [[True, True, True], [True, False, False], [True, True, False]]
            want = {"longest": 3, "mask": mask, "tokens": 6, "repeated": [0, 0, 0, 1, 2, 2], "picked": [3, 2], "after": [4, 2, 3]}
            self.assertEqual({k: self.said[k] for k in want}, want)

        def test_until_something_unknown_is_written_into_them(self):
            self.assertEqual(self.said["lost"], 0)

        def test_unknown_sizes_are_as_large_as_can_be_and_said(self):
            self.assertEqual(self.said["all"], [1000 * 1000])
            self.assertTrue([n for n in self.run_of.of("note") if n["what"] == "size"])
            self.assertTrue([n for n in self.run_of.of("note") if n["what"] == "value" and "k" in n])

    class Training(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.run_of = Run(
                """
                import copy, json, os, tempfile, torch
                from torch.utils.checkpoint import checkpoint
                from torch.utils.data import DataLoader, TensorDataset

                class Net(torch.nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.up, self.down = torch.nn.Linear(256, 1024), torch.nn.Linear(1024, 256)
                    def forward(self, x):
                        return self.down(torch.nn.functional.gelu(self.up(x)))

                nets = torch.nn.ModuleList([Net() for _ in range(3)]).cuda()
                average = copy.deepcopy(nets)
                optimizer = torch.optim.Adam(nets.parameters())
                scaler = torch.amp.GradScaler("cuda")
                data = DataLoader(TensorDataset(torch.randn(64, 256)), batch_size=16, num_workers=2, pin_memory=True, persistent_workers=True)
                compiled = torch.compile(nets[2])
                said = {"seen": 0}
                for (x,) in data:
                    x = x.cuda(non_blocking=True)
                    with torch.autocast("cuda", dtype=torch.float16):
                        y = checkpoint(nets[0], x, use_reentrant=False)
                        y = checkpoint(nets[1], y, use_reentrant=True)
                        loss = compiled(y).float().pow(2).mean()
                    optimizer.zero_grad()
                    scaler.scale(loss).backward()
                    scaler.unscale_(optimizer)
                    said["norm"] = torch.nn.utils.clip_grad_norm_(nets.parameters(), 1.0).item()
                    path = os.path.join(tempfile.mkdtemp(), "c.pt")
                    torch.save({"net": nets.state_dict()}, path)
                    said["file"] = os.path.getsize(path)
                    said["seen"] += x.shape[0]
                    said["scale"] = scaler.get_scale()
                    said["device"] = str(torch.load(path, map_location="cpu")["net"]["0.up.weight"].device)
                    nets.load_state_dict(torch.load(path)["net"])
                    print(json.dumps(said))
                    scaler.step(optimizer)
                    scaler.update()
                """
            )
            cls.said = cls.run_of.said()

        def test_goes_through(self):
            self.assertEqual((self.run_of.status, self.run_of.end["reason"], self.run_of.end["steps"]), (0, "steps", 3), self.run_of.err)
            self.assertEqual({k: self.said[k] for k in ("seen", "scale", "device")}, {"seen": 48, "scale": 65536.0, "device": "cpu"})

        def test_files_have_shapes_and_no_contents(self):
            self.assertLess(self.said["file"], 100_000)  # of 6 MB

        def test_autocast_computes_in_half_precision(self):
            products = {op["sig"]["in"][-1][0] for op in self.run_of.named("aten.addmm.default")}
            self.assertEqual(products, {"float16"})

        def test_checkpoints_compute_twice(self):
            phases = [op["p"] for op in self.run_of.named("aten.gelu.default")]
            self.assertEqual((phases.count("f"), phases.count("r")), (9, 6))

        def test_what_was_passed_by_is_said(self):
            self.assertLessEqual({"compile", "workers", "save"}, {n["what"] for n in self.run_of.of("note")})

    class WhatOnlyAGPURuns(unittest.TestCase):
        def test_functions_of_jit_script_run_operator_by_operator(self):
            run = Run(
                """
                import json, torch

                @torch.jit.script
                def bucket(x: torch.Tensor) -> torch.Tensor:
                    return torch.where(x > 0, torch.log(x + 1) * 2, torch.ceil(x))

                x = torch.randn(100, 100, device="cuda")
                for _ in range(4):  # from the third call on, real ones are fused
                    y = bucket(x)
                print(json.dumps({"shape": list(y.shape)}))
                """
            )
            self.assertEqual(run.said(), {"shape": [100, 100]})

        def test_recurrent_layers_under_autocast(self):
            run = Run(
                """
                import json, torch

                layer = torch.nn.LSTM(16, 32, batch_first=True, bidirectional=True).cuda()
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    out, (h, c) = layer(torch.randn(4, 10, 16, device="cuda"))
                out.float().sum().backward()
                print(json.dumps({"out": list(out.shape), "type": str(out.dtype), "grads": {str(p.grad.dtype) for p in layer.parameters()} == {"torch.float32"}}))
                """
            )
            self.assertEqual(run.said(), {"out": [4, 10, 64], "type": "torch.bfloat16", "grads": True})

        def test_grouped_products_in_float32(self):
            run = Run(
                """
                import json, torch

                tokens, experts = torch.randn(64, 32, device="cuda", requires_grad=True), torch.randn(4, 32, 16, device="cuda", requires_grad=True)
                ends = torch.tensor([16, 16, 40, 64], dtype=torch.int32, device="cuda")
                out = torch._grouped_mm(tokens, experts, offs=ends)
                out.sum().backward()
                print(json.dumps({"out": list(out.shape), "tokens": list(tokens.grad.shape), "experts": list(experts.grad.shape)}))
                """
            )
            self.assertEqual(run.said(), {"out": [64, 16], "tokens": [64, 32], "experts": [4, 32, 16]})

    class Layers(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.run_of = Run(
                """
                import json, torch
                from torch import nn
                said = {}
                lstm = nn.LSTM(32, 64, 2, batch_first=True, dropout=0.1).cuda()
                packed = nn.utils.rnn.pack_padded_sequence(torch.randn(3, 7, 32, device="cuda"), torch.tensor([7, 5, 2]), batch_first=True)
                out, _ = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
                out.sum().backward()
                said["packed"], said["lstm"] = list(packed.data.shape), list(out.shape)
                gru = nn.GRU(32, 64, bidirectional=True).cuda()
                said["gru"] = list(gru(torch.randn(7, 3, 32, device="cuda"))[0].shape)
                layer = nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda()
                layer(torch.randn(2, 5, 64, device="cuda")).sum().backward()
                layer.eval()
                with torch.no_grad():
                    said["encoder"] = list(layer(torch.randn(2, 5, 64, device="cuda")).shape)
                half = torch.randn(2, 4, 128, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
                nn.functional.scaled_dot_product_attention(half, half, half, is_causal=True).sum().backward()
                conv = nn.Conv2d(3, 8, 3).to("cuda", memory_format=torch.channels_last)
                said["last"] = conv(torch.randn(2, 3, 8, 8, device="cuda").to(memory_format=torch.channels_last)).is_contiguous(memory_format=torch.channels_last)
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    side = torch.ones(1 << 20, device="cuda")
                side.record_stream(torch.cuda.current_stream())
                torch.cuda.synchronize()
                said["allocated"] = torch.cuda.memory_allocated() >= 4 << 20
                weight = nn.Linear(20000, 20000).weight  # 1.6 GB, were it real
                said["host"] = list(weight.shape)
                print(json.dumps(said))
                """
            )

        def test_shapes(self):
            want = {"packed": [14, 32], "lstm": [3, 7, 64], "gru": [7, 3, 128], "encoder": [2, 5, 64], "last": True, "allocated": True, "host": [20000, 20000]}
            self.assertEqual(self.run_of.said(), want, self.run_of.err)

        def test_kernels_are_the_gpus(self):
            ops = {op["sig"]["op"] for op in self.run_of.ops()}
            self.assertLessEqual({"aten._cudnn_rnn.default", "aten._cudnn_rnn_backward.default"}, ops)
            fused = {op for op in ops if op.startswith("aten._scaled_dot_product")}
            self.assertTrue(fused and not any("math" in op for op in fused), fused)

        def test_memory_of_another_stream(self):
            made = [op for op in self.run_of.ops() if op.get("s") and op.get("new")]
            self.assertEqual([(op["s"], op["new"][0][1]) for op in made], [(made[0]["s"], 4 << 20)])
            self.assertEqual([(u["id"], u["s"]) for u in self.run_of.of("use")], [(made[0]["new"][0][0], 0)])

        def test_large_tensors_of_the_cpu_take_no_memory(self):
            self.assertLess(self.run_of.end["host_peak_bytes"], 1400 << 20)

    class WhatDependsOnValues(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            cls.run_of = Run(
                """
                import json, torch
                from torch import nn
                said = {}
                torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
                boxes = torch.rand(50, 4, device="cuda")
                said["kept"] = list(torch.ops.torchvision.nms(boxes, boxes[:, 0], 0.5)[:20].shape)
                loss, large = boxes.sum(), torch.randn(512, 512, device="cuda")
                said["finite"] = [bool(torch.isfinite(loss)), bool(torch.isfinite(large).all()), bool(torch.isnan(large).any()), bool(torch.isinf(loss))]
                said["equal"] = bool((large == large.clone()).any())
                embedding = nn.Embedding(1000, 16, sparse=True).cuda()
                optimizer = torch.optim.SparseAdam(list(embedding.parameters()))
                embedding(torch.randint(0, 1000, (8, 4), device="cuda")).sum().backward()
                optimizer.step()
                said["state"] = list(optimizer.state[embedding.weight]["exp_avg"].shape)
                torch.distributions.Categorical(logits=boxes).log_prob(torch.distributions.Categorical(logits=boxes).sample())
                unfinished = torch.ones(2, dtype=torch.long, device="cuda") & ~(boxes[:2, 0] > 0.5)
                said["going on"] = bool(unfinished.max() == 0)
                said["ended"] = bool((unfinished & ~(torch.full((2,), True, device="cuda") | (boxes[:2, 0] > 0.5))).max() == 0)
                model = nn.Linear(4, 4).cuda().share_memory()
                said["shared"] = str(model.weight.device)
                print(json.dumps(said))
                """
            )

        def test_goes_through(self):
            want = {"kept": [20], "finite": [True, True, False, False], "equal": False, "state": [1000, 16], "going on": False, "ended": True, "shared": "cuda:0"}
            self.assertEqual(self.run_of.said(), want, self.run_of.err)

        def test_what_is_taken_as_large_as_it_can_be_is_said(self):
            notes = [n["text"] for n in self.run_of.of("note") if n["what"] == "size"]
            self.assertIn("nms of 50 boxes: all are kept", notes)


if __name__ == "__main__":
    unittest.main()
