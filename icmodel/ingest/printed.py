"""Printed numbers as intervals of the values they may have been rounded from.

The interval is half a unit of the last digit to both sides: ``0.12`` was any value from 0.115 to
0.125.  Checks compare intervals, so that rounding alone is no contradiction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

MICRO = Decimal("1e-6")
PER_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of at least 0, with the least and the greatest value it may have been rounded from."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """The greatest error due to rounding."""
        return max(self.high - self.value, self.value - self.low)

    def __mul__(self, other: Printed | float) -> Printed:
        """The product, by interval arithmetic."""
        by = other if isinstance(other, Printed) else Printed(other, other, other)
        return Printed(self.value * by.value, self.low * by.low, self.high * by.high)

    def __truediv__(self, other: Printed) -> Printed:
        """The quotient, by interval arithmetic."""
        return Printed(
            _over(self.value, other.value), _over(self.low, other.high), _over(self.high, other.low)
        )

    def meets(self, other: Printed, slack: float = 0.0) -> bool:
        """Whether the intervals overlap when each is widened by the relative ``slack``."""
        return self.low <= other.high * (1 + slack) and other.low <= self.high * (1 + slack)

    def finer(self, other: Printed) -> Printed:
        """The more precise of two numbers of the same quantity."""
        return other if other.half < self.half else self


def _over(one: float, other: float) -> float:
    return one / other if other else math.inf


def printed(text: str, factor: int | Decimal = 1, *, cut: bool = False) -> Printed:
    """The number in a text times a factor, in exact arithmetic: ``("25.869", Decimal("1e-6"))``.

    Parameters
    ----------
    cut
        Whether the tool may truncate: the number was then up to one unit of the last digit greater.
    """
    value = Decimal(text)
    unit = unit_of(text)
    some = (value, max(value - unit / 2, Decimal(0)), value + (unit if cut else unit / 2))
    return Printed(*(float(number * factor) for number in some))


def exact(value: float) -> Printed:
    """A number without rounding, such as a count."""
    return Printed(value, value, value)


def unit_of(text: str) -> Decimal:
    """One unit of the last digit of a printed number: 0.01 of ``0.12``, 1 of ``15``."""
    exponent = Decimal(text).as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
