"""microbatch: gradients of pieces are those of the whole batch, also when an attempt before them ran out of memory."""
import collections
import dataclasses
import itertools
import unittest
import warnings

import numpy
import torch
import torch.nn.functional as F
from fakecuda import OutOfMemoryError
from oomcuda import OomCuda, Quiet

import ullage
from ullage._oom import split

Pair = collections.namedtuple("Pair", "x y")


def net(seed=0, norm=None):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(6, 16), torch.nn.ReLU(), norm(16) if norm else torch.nn.Identity(), torch.nn.Linear(16, 5)]
    return torch.nn.Sequential(*layers).double()


def batch_of(count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(count, 6, generator=generator).double(), "y": torch.randint(0, 5, (count,), generator=generator)}


def gradients(model):
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


class Narrow(torch.autograd.Function):
    """Runs out of memory in the backward pass of more than most samples: the layers behind it have their gradients by then."""

    @staticmethod
    def forward(ctx, x, most):
        ctx.most = most
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if len(grad) > ctx.most:
            raise OutOfMemoryError("CUDA out of memory.")
        return grad, None


class Case(Quiet):
    def whole(self, model, loss, batch):
        model.zero_grad()
        value = loss(batch)
        value.backward()
        result = gradients(model)
        model.zero_grad()
        return value.detach(), result

    def assert_same(self, got, want):
        for a, b in zip(got, want):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)


class Equality(Case):
    def test_means_and_sums_in_uneven_pieces(self):
        for reduction, count, size in itertools.product(("mean", "sum"), (1, 7, 32), (1, 3, 7, 100)):
            with self.subTest(reduction=reduction, count=count, size=size):
                model, batch = net(), batch_of(count)

                def loss(piece):
                    return F.cross_entropy(model(piece["x"]), piece["y"], reduction=reduction)

                value, want = self.whole(model, loss, batch)
                run = ullage.microbatch(model, loss, size=size, reduction=reduction)
                torch.testing.assert_close(run(batch), value)
                self.assert_same(gradients(model), want)

    def test_a_mean_over_tokens_needs_their_number(self):
        model, batch = net(), batch_of(10)
        batch["y"][[0, 1, 2, 3, 7]] = -100  # the first pieces of two have none at all

        def loss(piece):
            return F.cross_entropy(model(piece["x"]), piece["y"])

        value, want = self.whole(model, loss, batch)
        run = ullage.microbatch(model, loss, size=2, weight=lambda piece: (piece["y"] != -100).sum())
        torch.testing.assert_close(run(batch), value)
        self.assert_same(gradients(model), want)
        model.zero_grad()
        ullage.microbatch(model, loss, size=5)(batch)
        self.assertFalse(torch.allclose(gradients(model)[0], want[0]))

    def test_a_mean_over_nothing_is_not_a_number(self):
        model, batch = net(), batch_of(4)
        batch["y"][:] = -100
        run = ullage.microbatch(model, lambda b: F.cross_entropy(model(b["x"]), b["y"]), size=2, weight=lambda b: (b["y"] != -100).sum())
        self.assertTrue(run(batch).isnan())

    def test_gradients_are_added_to_what_is_there(self):
        model, first, second = net(), batch_of(6), batch_of(6, seed=2)

        def loss(piece):
            limited.append(len(piece["x"]))
            if len(piece["x"]) > most:
                raise OutOfMemoryError("CUDA out of memory.")
            return F.cross_entropy(model(piece["x"]), piece["y"])

        limited, most = [], 6
        loss(first).backward()
        loss(second).backward()
        want = gradients(model)
        for zeros in (False, True):
            model.zero_grad(set_to_none=not zeros)
            most, run = 3, ullage.microbatch(model, loss)
            run(first)
            run(second)
            self.assert_same(gradients(model), want)

    def test_through_a_gradient_scaler(self):
        model, batch = net(), batch_of(8)

        def loss(piece):
            return F.cross_entropy(model(piece["x"]), piece["y"])

        _, want = self.whole(model, loss, batch)
        ullage.microbatch(model, loss, size=3, backward=lambda value: (value * 1024).backward())(batch)
        self.assert_same(gradients(model), [g * 1024 for g in want])


class OutOfMemory(Case):
    def test_in_the_backward_pass_with_half_of_the_gradients_made(self):
        model, batch, seen = net(), batch_of(24), []

        def loss(piece):
            seen.append(len(piece["x"]))
            return F.cross_entropy(model[3](Narrow.apply(model[:3](piece["x"]), most)), piece["y"])

        most = 100
        _, want = self.whole(model, loss, batch)
        run, most = ullage.microbatch(model, loss), 8
        run(batch)
        self.assert_same(gradients(model), want)
        self.assertEqual(seen[1:], [24, 12, 6, 6, 6, 6])
        self.assertEqual((run.size(), run.size("eval"), len(run.report.failures)), (6, None, 2))
        model.zero_grad()
        run(batch)
        self.assert_same(gradients(model), want)
        self.assertEqual(seen[7:], [6, 6, 6, 6])

    def test_on_a_device_that_counts(self):
        torch.manual_seed(0)
        model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)])
        x = torch.randn(256, 64)
        want = self.whole(model, lambda b: model(b).square().mean(), x)[1]
        with OomCuda(total_bytes=420 << 10) as gpu:
            run = ullage.microbatch(model, lambda b: model(b).square().mean())
            run(x)
            self.assertGreater(gpu.failures, 0)
        self.assertLess(run.size(), 256)
        for got, grad in zip(gradients(model), want):
            torch.testing.assert_close(got, grad)

    def test_dropout_draws_as_if_the_failed_attempt_had_not_been(self):
        model = torch.nn.Sequential(net(), torch.nn.Dropout()).double()
        batch = batch_of(8)

        def loss(piece):
            out = model(piece["x"])
            if len(piece["x"]) > most:
                raise OutOfMemoryError("CUDA out of memory.")
            return out.square().mean()

        torch.manual_seed(7)
        most, size = 4, 4
        ullage.microbatch(model, loss, size=size)(batch)
        want = gradients(model)
        model.zero_grad()
        torch.manual_seed(7)
        ullage.microbatch(model, loss)(batch)
        self.assert_same(gradients(model), want)

    def test_batch_norm_is_told_of_and_its_statistics_are_put_back(self):
        model, batch = net(norm=torch.nn.BatchNorm1d), batch_of(8)

        def loss(piece):
            out = model(piece["x"])
            if len(piece["x"]) > 4:
                raise OutOfMemoryError("CUDA out of memory.")
            return F.cross_entropy(out, piece["y"])

        with self.assertLogs("ullage", "WARNING") as logs:
            run = ullage.microbatch(model, loss)
            run(batch)
            run(batch)
        self.assertEqual(sum("batch norms" in line for line in logs.output), 1)
        self.assertEqual(int(model[2].num_batches_tracked), 4)

    def test_batch_norm_in_eval_mode_is_exact(self):
        model, batch = net(norm=torch.nn.BatchNorm1d).eval(), batch_of(8)

        def loss(piece):
            return F.cross_entropy(model(piece["x"]), piece["y"])

        _, want = self.whole(model, loss, batch)
        ullage.microbatch(model, loss, size=3)(batch)
        self.assert_same(gradients(model), want)

    def test_evaluation_goes_forward_only_and_has_its_own_size(self):
        model, batch = net(), batch_of(8)

        def loss(piece):
            if len(piece["x"]) > 2:
                raise OutOfMemoryError("CUDA out of memory.")
            return F.cross_entropy(model(piece["x"]), piece["y"])

        run = ullage.microbatch(model, loss)
        with torch.no_grad():
            value = run(batch)
            torch.testing.assert_close(value, F.cross_entropy(model(batch["x"]), batch["y"]))
        self.assertEqual(gradients(model), [None] * 4)
        self.assertEqual((run.size("eval"), run.size("train")), (2, None))

    def test_a_single_sample_that_does_not_fit(self):
        model, batch = net(), batch_of(3)

        def loss(piece):
            raise OutOfMemoryError("CUDA out of memory.")

        with self.assertRaises(OutOfMemoryError):
            ullage.microbatch(model, loss)(batch)


class Batches(Case):
    def test_forms(self):
        x, y = torch.arange(6), torch.arange(12).view(6, 2)
        named = split.take(Pair(x, [y, "name"]), 1, 3)
        self.assertIsInstance(named, Pair)
        self.assertEqual((named.x.tolist(), named.y[0].tolist(), named.y[1]), ([1, 2], [[2, 3], [4, 5]], "name"))
        ordered = split.take(collections.OrderedDict(a=x, b={"c": (y, torch.tensor(3))}), 4, 9)
        self.assertEqual(list(ordered), ["a", "b"])
        self.assertEqual((ordered["a"].tolist(), ordered["b"]["c"][0].tolist(), int(ordered["b"]["c"][1])), ([4, 5], [[8, 9], [10, 11]], 3))
        other = split.take(collections.UserDict(a=x), 0, 1)
        self.assertIsInstance(other, collections.UserDict)
        self.assertEqual(other["a"].tolist(), [0])
        self.assertEqual(split.samples({"a": x, "b": [y, torch.tensor(1.0)], "c": None}), 6)
        self.assertEqual(named.x.data_ptr(), x[1:].data_ptr())

    def test_what_a_sample_has_beside_its_tensors_is_cut_too(self):
        x, texts = torch.arange(4), ["a", "b", "c", "d"]
        batch = {"x": x, "weights": numpy.arange(4.0), "texts": texts, "names": ("k", "l", "m", "n"), "mean": [0.5, 0.25, 0.5, 0.5], "note": "abcd"}
        self.assertEqual(split.samples(batch), 4)
        cut = split.take(batch, 1, 3)
        self.assertEqual((cut["weights"].tolist(), cut["texts"], cut["names"]), ([1.0, 2.0], ["b", "c"], ("l", "m")))
        self.assertEqual((cut["mean"], cut["note"]), (batch["mean"], "abcd"))
        more = split.resize(batch, 6)
        self.assertEqual((more["x"].tolist(), more["weights"].tolist()), ([0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 0, 1]))
        self.assertEqual((more["texts"], more["names"]), ([*texts, "a", "b"], ("k", "l", "m", "n", "k", "l")))
        self.assertEqual(split.take({"x": x, "classes": ["cat", "dog"]}, 0, 2)["classes"], ["cat", "dog"])
        with self.assertRaisesRegex(ValueError, r"different length .*\(3, 4\)"):
            split.samples({"x": x, "weights": numpy.ones(3)})

    def test_dataclasses_and_dicts_that_refuse_update(self):
        @dataclasses.dataclass(frozen=True)
        class Graph:
            x: torch.Tensor
            name: str
            made: int = dataclasses.field(init=False, default=7)

        class Output(collections.OrderedDict):
            update = None

        graph = split.take(Graph(torch.arange(4), "g"), 2, 4)
        self.assertEqual((graph.x.tolist(), graph.name, graph.made, type(graph)), ([2, 3], "g", 7, Graph))
        output = Output()
        output["x"], output["graph"] = torch.arange(4), Graph(torch.arange(4), "h")
        cut = split.take(output, 0, 1)
        self.assertEqual((type(cut), cut["x"].tolist(), cut["graph"].x.tolist()), (Output, [0], [0]))

    def test_torchs_nested_tensors(self):
        warnings.filterwarnings("ignore", message=".*prototype")
        self.addCleanup(warnings.resetwarnings)
        nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3), torch.zeros(1, 3)])
        self.assertEqual(split.samples(nested), 3)
        self.assertEqual([t.shape[0] for t in split.take(nested, 1, 3).unbind()], [4, 1])

    def test_even_pieces(self):
        for count, largest in itertools.product(range(1, 40), range(1, 45)):
            edges = split.even(count, largest)
            lengths = [b - a for a, b in edges]
            self.assertEqual([a for a, _ in edges] + [count], [0] + [b for _, b in edges])
            self.assertLessEqual(max(lengths), largest)
            self.assertLessEqual(max(lengths) - min(lengths), 1)
            self.assertEqual(len(edges), -(-count // largest))

    def test_samples_of_ones_own(self):
        model, batch = net(), [{"x": torch.ones(6).double()}, {"x": torch.zeros(6).double()}, {"x": torch.ones(6).double()}]

        def loss(piece):
            return sum(model(one["x"]).square().mean() for one in piece) / len(piece)

        _, want = self.whole(model, loss, batch)
        ullage.microbatch(model, loss, size=2, samples=len, take=lambda b, start, stop: b[start:stop])(batch)
        self.assert_same(gradients(model), want)

    def test_what_can_not_be_right_is_refused(self):
        model, batch = net(), batch_of(4)
        wrong = ullage.microbatch(model, lambda b: F.cross_entropy(model(b["x"]), b["y"], reduction="none"))
        for call, error in (
            (lambda: wrong(batch), r"shape \(4,\)"),
            (lambda: wrong({"x": torch.ones(3), "y": torch.ones(4)}), r"different length .*\(3, 4\)"),
            (lambda: wrong(["a", "b"]), "no tensor that could be cut"),
            (lambda: wrong(torch.ones(0, 2)), "empty"),
            (lambda: ullage.microbatch(model, len, reduction="none"), "reduction is 'none'"),
            (lambda: ullage.microbatch(model, len, reduction="sum", weight=len), "no weights"),
            (lambda: ullage.microbatch(type("FSDPModule", (torch.nn.Module,), {})(), len), "hint: find the size beforehand"),
        ):
            with self.subTest(error), self.assertRaisesRegex(ValueError, error):
                call()

    def test_what_the_programs_functions_return_is_checked(self):
        model, batch = net(), batch_of(4)
        mean = lambda piece: F.cross_entropy(model(piece["x"]), piece["y"])  # noqa: E731
        output = type("Output", (), {"loss": None})
        for loss, options, error in (
            (lambda piece: None, {}, "what loss returned is None, but has to be a tensor of one number"),
            (lambda piece: 0.5, {}, "what loss returned is 0.5.* hint: return the tensor, not its .item"),
            (lambda piece: output(), {}, "what loss returned is an Output.* hint: return its .loss"),
            (mean, {"weight": lambda piece: None}, "what weight returned is None, but has to be a number, at least 0"),
            (mean, {"weight": lambda piece: float("nan")}, "what weight returned is nan"),
            (mean, {"weight": lambda piece: -1}, "what weight returned is -1"),
            (mean, {"samples": lambda batch: None}, "what samples returned is None"),
            (mean, {"samples": lambda batch: 1.5}, "what samples returned is 1.5"),
        ):
            with self.subTest(error), self.assertRaisesRegex((TypeError, ValueError), error):
                ullage.microbatch(model, loss, size=2, **options)(batch)


if __name__ == "__main__":
    unittest.main()
