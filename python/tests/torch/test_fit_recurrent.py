"""What `ullage fit` knows of cuDNN's recurrent layers, which torch's own rules for shapes leave out."""
import unittest

from fitrun import IS_OLD, Run

# What each layer was seen to reserve on an H200 (testdata/gpu, operators-h200): class, layers, both directions, type, bytes.
MEASURED = [
    ("LSTM", 1, False, "float32", 164096), ("LSTM", 2, True, "float32", 721152), ("LSTM", 2, True, "float16", 360704),
    ("GRU", 2, True, "float32", 852224), ("RNN", 2, True, "float32", 196864),
]

PROGRAM = """
import torch

def layer(name, layers, both, dtype, train):
    m = getattr(torch.nn, name)(64, 64, layers, bidirectional=both).to("cuda", getattr(torch, dtype)).train(train)
    m(torch.randn(16, 8, 64).to("cuda", m.weight_ih_l0.dtype, copy=True))[0].sum().backward()

for case in %r:
    layer(*case[:4], True)
with torch.no_grad():
    m = torch.nn.LSTM(64, 64).cuda().eval()
    m(torch.randn(16, 8, 64).cuda())
"""


@unittest.skipIf(IS_OLD, "fit needs torch 2.10")
class Reserve(unittest.TestCase):
    def test_sizes_are_those_that_were_measured_and_none_without_training(self):
        run = Run(PROGRAM % (MEASURED,))
        self.assertEqual(run.status, 0, run.err)
        sizes = [[n[1] for n in op["new"]] for op in run.named("aten._cudnn_rnn.default")]
        self.assertEqual([s[-1] for s in sizes[:-1]], [bytes for *_, bytes in MEASURED])
        self.assertEqual(sizes[-1], [32768, 2048, 2048])

    def test_it_lives_until_the_backward_pass(self):
        run = Run(PROGRAM % (MEASURED[:1],))
        (forward, *_), (*_, backward) = run.named("aten._cudnn_rnn.default"), run.named("aten._cudnn_rnn_backward.default")
        reserve = forward["new"][-1][0]
        freed = next(i for i, line in enumerate(run.lines) if line["e"] == "free" and line["id"] == reserve)
        ran = next(i for i, line in enumerate(run.lines) if line["e"] == "op" and line.get("new") == backward["new"])
        self.assertGreater(freed, ran)


if __name__ == "__main__":
    unittest.main()
