"""Shared parts of rows: grids, loads, rules, rounding, and numbers stated in the thesis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import cache

from points import Row, transcription

UNLIMITED = Decimal("inf")
GBPS = 10**9
OCTAVES = [2**k for k in range(16)]
TCP = sorted([*OCTAVES, 1448, 1449, 65535])
UDP = sorted([*OCTAVES, 1472, 1473, 65507])
UDP_ALIGNED = [1472, 2952, 4432, 7392, 13312, 25152, 48832, 65112]
LEAST_LATENCY_PAYLOAD = 32
LATENCY_LOADS = [Decimal(load) for load in ("0.1E9", "2.5E9", "5E9", "7.5E9", "9.4E9", "10E9")]
CPU_LOADS = [Decimal(load) for load in ("0.1E9", "5E9", "9.4E9")]
UDP_LIMITED = Decimal("9.6E9")
CARRIED = Decimal("1.005")
"""A load counts as carried up to this multiple of the benchmarked goodput (E14)."""

SI = {
    "Gb/s": Decimal("1E9"),
    "M/s": Decimal("1E6"),
    "%": Decimal("0.01"),
    "ms": Decimal("1E-3"),
    "us": Decimal("1E-6"),
}


def rule(number: int, said: str = "") -> str:
    """Return the source of a row made by a rule of the dataset's README."""
    return f"README rule R{number}" + (f", from {said}" if said else "")


@cache
def _statements() -> dict[str, tuple[Decimal, Decimal, str]]:
    return {
        row["key"]: (Decimal(row["value"]), SI[row["unit"]], f"IC2012 {row['place']}")
        for row in transcription("ic2012/stated.csv")
    }


def stated(key: str) -> Decimal:
    """Return a number that the thesis states in a sentence, in SI."""
    number, unit, _ = _statements()[key]
    return number * unit


def place(key: str) -> str:
    """Return the place where the thesis states a number."""
    return _statements()[key][2]


def rounding(key: str) -> tuple[Decimal, Decimal]:
    """Return the range that rounds to a stated number: half a unit of its last digit either way."""
    number, unit, _ = _statements()[key]
    half = Decimal((0, (5,), int(number.as_tuple().exponent) - 1))
    return (number - half) * unit, (number + half) * unit


def figures(value: Decimal, digits: int, rounding_mode: str = ROUND_HALF_EVEN) -> Decimal:
    """Round a number to some significant digits."""
    return Context(prec=digits, rounding=rounding_mode).plus(value)


def floor_figures(value: Decimal, digits: int = 4) -> Decimal:
    """Round a number down to some significant digits, so that it does not exceed a bound."""
    return figures(value, digits, ROUND_FLOOR)


def to_step(value: Decimal, step: str) -> Decimal:
    """Round a number to a multiple of ``step``, a power of ten."""
    return value.quantize(Decimal(step), ROUND_HALF_EVEN)


def octaves(payload_bytes: int) -> Decimal:
    """Return log2 of a payload, the axis of the thesis' figures."""
    return Decimal(payload_bytes).ln() / Decimal(2).ln()


def with_options(rows: Iterable[Row]) -> list[Row]:
    """Return the rows, with the setting of Nagle's algorithm in every TCP row."""
    return [
        replace(row, options={"nagle": "on", **row.options}) if row.protocol == "tcp" else row
        for row in rows
    ]
