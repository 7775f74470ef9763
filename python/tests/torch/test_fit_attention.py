"""Which kernel of attention is chosen: by card, type, mask and shape, as torch chooses on a GPU."""
import os
import unittest
from unittest import mock

import torch
from fitrun import IS_OLD

HOPPER, AMPERE, ADA, TURING, BLACKWELL = (9, 0), (8, 0), (8, 9), (7, 5), (10, 0)

if not IS_OLD:
    from ullage._fit.attention import Chooser

    def tensors(dtype=torch.bfloat16, heads=(8, 8), tokens=(128, 128), width=64, grad=True):
        q = torch.empty(2, heads[0], tokens[0], width, dtype=dtype, device="meta", requires_grad=grad)
        k = torch.empty(2, heads[1], tokens[1], width, dtype=dtype, device="meta", requires_grad=grad)
        return q, k, torch.empty_like(k)

    def choose(card, q, k, v, mask=None, dropout_p=0.0, is_causal=False, enable_gqa=False, cudnn=91900):
        return Chooser(card, cudnn).choose(q, k, v, mask, dropout_p, is_causal, enable_gqa)

    class Choice(unittest.TestCase):
        def test_by_card_and_type(self):
            half, single, double = tensors(), tensors(torch.float32), tensors(torch.float64)
            cases = [
                (HOPPER, half, "cudnn"), (BLACKWELL, half, "cudnn"), (AMPERE, half, "flash"), (ADA, half, "flash"), (TURING, half, "math"),
                (HOPPER, single, "efficient"), (TURING, single, "efficient"), (HOPPER, double, "math"),
            ]  # fmt: skip
            for card, (q, k, v), want in cases:
                with self.subTest(card=card, dtype=q.dtype):
                    self.assertEqual(choose(card, q, k, v), want)

        def test_a_mask_rules_flash_out(self):
            q, k, v = tensors()
            mask = torch.empty(2, 1, 128, 128, dtype=torch.bfloat16, device="meta")
            self.assertEqual(choose(AMPERE, q, k, v, mask), "efficient")
            self.assertEqual(choose(HOPPER, q, k, v, mask), "cudnn")

        def test_a_mask_whose_rows_are_not_dense_needs_plain_products(self):
            q, k, v = tensors(torch.float32)
            mask = torch.empty(1, 128, 128, 8, device="meta").permute(0, 3, 1, 2)  # T5's bias of positions
            self.assertEqual(choose(HOPPER, q, k, v, mask), "math")

        def test_widths(self):
            for width, ampere, hopper in ((72, "flash", "cudnn"), (256, "flash", "cudnn"), (264, "efficient", "efficient"), (60, "flash", "flash"), (65, "flash", "flash")):
                with self.subTest(width=width):
                    q, k, v = tensors(width=width)
                    self.assertEqual((choose(AMPERE, q, k, v), choose(HOPPER, q, k, v)), (ampere, hopper))

        def test_grouped_heads(self):
            q, k, v = tensors(heads=(8, 2))
            self.assertEqual((choose(AMPERE, q, k, v, enable_gqa=True), choose(AMPERE, q, k, v)), ("flash", "math"))

        def test_causal_and_not_square(self):
            q, k, v = tensors(tokens=(64, 128))
            self.assertEqual((choose(AMPERE, q, k, v, is_causal=True), choose(AMPERE, q, k, v)), ("efficient", "flash"))

        def test_consumer_cards_cannot_train_wide_heads_with_flash(self):
            q, k, v = tensors(width=208)
            self.assertEqual((choose(ADA, q, k, v), choose(AMPERE, q, k, v)), ("efficient", "flash"))
            with torch.no_grad():
                self.assertEqual(choose(ADA, q, k, v), "flash")

        def test_what_rules_cudnn_out(self):
            q, k, v = tensors()
            self.assertEqual(choose(HOPPER, q, k, v, cudnn=91000), "flash")
            with mock.patch.dict(os.environ, TORCH_CUDNN_SDPA_DEPRIORITIZED="1"):
                self.assertEqual(choose(HOPPER, q, k, v), "flash")
            torch.use_deterministic_algorithms(True)
            try:
                self.assertEqual(choose(HOPPER, q, k, v), "flash")
            finally:
                torch.use_deterministic_algorithms(False)

        def test_masks_that_rule_cudnn_out(self):
            q, k, v = tensors()
            scores = (q.size(0), q.size(1), q.size(2), k.size(2))
            for shape, want in ((scores, "cudnn"), ((1, 1, *scores[2:]), "cudnn"), (scores[2:], "cudnn"), (scores[1:], "efficient"), ((3, *scores[1:]), "efficient")):
                self.assertEqual(choose(HOPPER, q, k, v, torch.zeros(shape, dtype=q.dtype, device=q.device)), want, shape)
            learned = torch.zeros(scores, dtype=q.dtype, device=q.device, requires_grad=True)
            self.assertEqual(choose(HOPPER, q, k, v, learned), "efficient")

        def test_what_the_program_allows(self):
            q, k, v = tensors()
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.EFFICIENT_ATTENTION):
                self.assertEqual(choose(HOPPER, q, k, v), "efficient")
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                self.assertEqual(choose(HOPPER, q, k, v), "math")


if __name__ == "__main__":
    unittest.main()
