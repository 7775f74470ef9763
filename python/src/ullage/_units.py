"""Amounts of memory in words, as the program `ullage` writes them."""
from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


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
