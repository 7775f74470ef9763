"""Amounts of memory in words, as the program `ullage` writes them."""
from __future__ import annotations

import re
from typing import Optional

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_AMOUNT = re.compile(r"(\d+\.?\d*|\.\d+)[ \t]*(.*)", re.ASCII | re.DOTALL)
_MOST_BYTES = 2**63 - 1  # that the program `ullage` counts in
_MOST_DIGITS = 32  # of a number, its dot included


def size(amount_bytes: float) -> str:
    """An amount in binary units with two decimals: 1.50 GiB, -3.00 MiB, 512 B."""
    amount, unit = float(amount_bytes), 0
    while abs(amount) >= 1023.995 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f} B" if unit == 0 else f"{amount:.2f} {_UNITS[unit]}"


def change(amount_bytes: float) -> str:
    """A difference, with its sign: +1.50 GiB."""
    return ("+" if amount_bytes > 0 else "") + size(amount_bytes)


def count(number: int, one: str, many: str = "") -> str:
    """A number of things in words: 1 block, 2,000 blocks."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def parse_bytes(text: str) -> int:
    """The bytes in a text, by the rules of the program `ullage`: 80GiB, 80G and 80g are 80 * 2^30, 80GB is 80 * 10^9, 512 is 512.

    Fractions are rounded to the nearest byte. Raises ValueError for what is no amount, negative ones included.
    """
    from fractions import Fraction

    given = text if len(text) <= 40 else text[:39] + "…"
    found = _AMOUNT.fullmatch(text.strip(" \t\r\n"))
    if found is None or len(found[1]) > _MOST_DIGITS:
        raise ValueError(f"{given!r}, which is no amount of memory: a number and a unit are expected, as in 80GiB or 512MB")
    factor = _factor(found[2].lower())
    if factor is None:
        raise ValueError(f"{given!r}, but {found[2][:20]!r} is no unit of memory: expected B, KiB, MiB, GiB, TiB, KB, MB, GB or TB")
    if factor == 1 and "." in found[1] and Fraction(found[1]).denominator != 1:
        raise ValueError(f"{given!r}, but there is no part of a byte")
    amount = (Fraction(found[1]) * factor + Fraction(1, 2)).__floor__()
    if amount > _MOST_BYTES:
        raise ValueError(f"{given!r}, which is more than the largest amount, 8 EiB")
    return amount


def _factor(unit: str) -> Optional[int]:
    """The bytes in a unit. A bare letter is binary, as in Slurm and Docker; the two-letter units are the decimal ones of SI."""
    if unit in ("", "b", "byte", "bytes"):
        return 1
    power = "kmgtpe".find(unit[0]) + 1
    base = {"": 1024, "i": 1024, "ib": 1024, "b": 1000}.get(unit[1:])
    return None if power == 0 or base is None else int(base**power)
