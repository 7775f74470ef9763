"""Amounts of memory in words, and the checks of arguments that need no torch."""
import unittest

from ullage import _checks as checks
from ullage import _units

MOST = 2**63 - 1


class Amounts(unittest.TestCase):
    # As the program `ullage` reads them: the rows of internal/units.
    TAKEN = {
        "0": 0, "512": 512, "512B": 512, " 512 bytes ": 512, "1 byte": 1, "80GiB": 80 << 30, "80Gi": 80 << 30, "80gib": 80 << 30,
        "80g": 80 << 30, "80G": 80 << 30, "80GB": 80 * 10**9, "80gb": 80 * 10**9, "1.5GiB": 3 << 29, ".5 KiB": 512, "2.KiB": 2048,
        "20.00 MiB": 20 << 20, "79.11 GiB": 84943715697, "0.1KiB": 102, "1.0005KB": 1001, "4\tTB": 4 * 10**12, "1PiB": 1 << 50,
        "7EiB": 7 << 60, str(MOST): MOST, "007k": 7168, "2.0": 2,
    }
    REFUSED = {
        "": "a number and a unit", "GiB": "a number and a unit", "-1": "a number and a unit", "1.5": "no part of a byte",
        "1.5B": "no part of a byte", "80GX": "'GX' is no unit", "80Gib s": "'Gib s' is no unit", "80ZiB": "'ZiB' is no unit",
        "1e9": "B, KiB", "0x10": "is no unit", "1.2.3GiB": "is no unit", ".": "a number and a unit", "1,024": "is no unit",
        "NaN": "a number and a unit", "8EiB": "more than the largest amount", str(MOST + 1): "more than the largest amount",
        "9" * 4000: "a number and a unit", "٣GiB": "a number and a unit", "8GiB\n9": "is no unit",
    }

    def test_taken(self):
        for text, want in self.TAKEN.items():
            with self.subTest(text):
                self.assertEqual(_units.parse_bytes(text), want)

    def test_refused(self):
        for text, says in self.REFUSED.items():
            with self.subTest(text[:50]), self.assertRaisesRegex(ValueError, says) as caught:
                _units.parse_bytes(text)
            self.assertLess(len(str(caught.exception)), 200)

    def test_what_is_written_can_be_read(self):
        for amount in (0, 1, 1023, 1024, 3 << 19, 20 << 20, 5 << 40):
            self.assertEqual(_units.parse_bytes(_units.size(amount)), amount)


class Shown(unittest.TestCase):
    def test_values_in_errors(self):
        class Own:
            @property
            def shape(self):
                raise RuntimeError("a nested tensor has none")

            dtype = shape

            def __repr__(self):
                raise AssertionError("of many lines, perhaps")

        for value, text in (
            (None, "None"), (True, "True"), (1.5, "1.5"), ("x", "'x'"), ("x" * 100, "'" + "x" * 58 + "…"), ([1], "a list"), ({}, "a dict"),
            (Own(), "an Own"), (Own, "the class Own"), (len, "the function len"), (object(), "an object"), (10**200, "1" + "0" * 58 + "…"),
            (10**5000, "a number of 16,610 bits"),
        ):
            self.assertEqual(checks.shown(value), text)

    def test_bounds(self):
        for check, text in (
            (lambda: checks.whole("n", 0, least=1), "n is 0, but has to be a whole number, at least 1"),
            (lambda: checks.whole("n", 9, least=1, most=5), "n is 9, but has to be a whole number, at least 1 and at most 5"),
            (lambda: checks.whole("n", 9, least=None, most=5), "n is 9, but has to be a whole number, at most 5"),
            (lambda: checks.number("x", 0, above=0), "x is 0, but has to be a number, more than 0"),
            (lambda: checks.timeout("t", 1e10), "t is 10000000000.0, but has to be a number of seconds, more than 0 and at most 1,000,000,000"),
            (lambda: checks.choice("way", "up", ("in", "out")), "way is 'up', but has to be 'in' or 'out'"),
        ):
            with self.assertRaises(ValueError) as caught:
                check()
            self.assertEqual(str(caught.exception), text)


if __name__ == "__main__":
    unittest.main()
