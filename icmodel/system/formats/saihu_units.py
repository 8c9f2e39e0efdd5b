"""Quantities as Saihu writes them: a number in the unit of its surroundings, or a text with its own.

A unit is a prefix (a f p n u m k M G T P E, powers of 1000) before b or B (data), s, m or h (time; m is
minutes), or data ``p`` time (rates): ``10kbps``, ``2kB``, ``1ms``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from icmodel.errors import NetworkError

_POWERS = {"a": -6, "f": -5, "p": -4, "n": -3, "u": -2, "m": -1, "": 0,
           "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}  # fmt: skip
_DATA = {"b": 1, "B": 8}
_TIME = {"s": 1, "m": 60, "h": 3600}
_NUMBER = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ]*)\s*")
KINDS = ("data", "rate", "time")


def factor(kind: str, unit: str) -> Fraction:
    """What one of a unit is in bits, b/s or seconds.

    Raises
    ------
    NetworkError
        If it is no unit of that kind.
    """
    bases: Mapping[str, Fraction] = {
        "data": {name: Fraction(n) for name, n in _DATA.items()},
        "time": {name: Fraction(n) for name, n in _TIME.items()},
        "rate": {f"{d}p{t}": Fraction(n, s) for d, n in _DATA.items() for t, s in _TIME.items()},
    }[kind]
    for name, base in bases.items():
        prefix = unit.removesuffix(name)
        if unit.endswith(name) and prefix in _POWERS:
            return base * Fraction(1000) ** _POWERS[prefix]
    raise NetworkError(
        f"{unit!r} is no unit of {kind}: write one such as "
        f"{ {'data': 'B or kb', 'rate': 'Mbps', 'time': 'us'}[kind] }"
    )


@dataclass(frozen=True, slots=True)
class Units:
    """The units of plain numbers at one place of a file."""

    data: str = "b"
    rate: str = "bps"
    time: str = "s"

    def within(self, table: Mapping[str, Any]) -> Units:
        """The units inside a table that may say its own (``data_unit``, ``rate_unit``, ``time_unit``)."""
        return Units(*(str(table.get(f"{kind}_unit", getattr(self, kind))) for kind in KINDS))

    def read(self, kind: str, given: object) -> float:
        """A quantity in bits, b/s or seconds.

        Raises
        ------
        NetworkError
            If it is no number with or without a unit.
        """
        if isinstance(given, bool) or not isinstance(given, int | float | str):
            raise NetworkError(f"{given!r} is no {kind}: write a number or a text with its unit")
        match = _NUMBER.fullmatch(str(given))
        try:
            assert match is not None
            number = Fraction(match[1])
        except (AssertionError, ValueError):
            raise NetworkError(
                f"{given!r} is no {kind}: write a number, or a text with its unit"
            ) from None
        return float(number * factor(kind, match[2] or getattr(self, kind)))
