"""Printed: what a number can have been before a tool rounded it to the digits it prints.

A printed number is an interval of half a unit of its last digit around it: ``0.12`` was anything
from 0.115 to 0.125. Checks compare these intervals, so that rounding alone contradicts nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

MICRO = Decimal("1e-6")
PER_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of 0 or more, and the least and the greatest that its digits leave open."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """How far the number may lie off for its rounding alone."""
        return max(self.high - self.value, self.value - self.low)

    def __mul__(self, other: Printed | float) -> Printed:
        """A product, and what the digits of both factors leave open of it."""
        by = other if isinstance(other, Printed) else Printed(other, other, other)
        return Printed(self.value * by.value, self.low * by.low, self.high * by.high)

    def __truediv__(self, other: Printed) -> Printed:
        """A quotient, and what the digits of both numbers leave open of it."""
        return Printed(
            _over(self.value, other.value), _over(self.low, other.high), _over(self.high, other.low)
        )

    def meets(self, other: Printed, slack: float = 0.0) -> bool:
        """Whether both can have been the same number, each as far off besides as ``slack`` says."""
        return self.low <= other.high * (1 + slack) and other.low <= self.high * (1 + slack)

    def finer(self, other: Printed) -> Printed:
        """The number, or another one of the same quantity whose digits say more."""
        return other if other.half < self.half else self


def _over(one: float, other: float) -> float:
    return one / other if other else math.inf


def printed(text: str, factor: int | Decimal = 1, *, cut: bool = False) -> Printed:
    """The number in a text times a factor, worked out exactly: ``("25.869", Decimal("1e-6"))``.

    Parameters
    ----------
    cut
        The tool may cut digits off and not round: then it is up to a whole unit more.
    """
    value = Decimal(text)
    unit = unit_of(text)
    some = (value, max(value - unit / 2, Decimal(0)), value + (unit if cut else unit / 2))
    return Printed(*(float(number * factor) for number in some))


def exact(value: float) -> Printed:
    """A number that is not rounded, such as a count."""
    return Printed(value, value, value)


def unit_of(text: str) -> Decimal:
    """One unit of the last digit of a printed number: 0.01 of ``0.12``, 1 of ``15``."""
    exponent = Decimal(text).as_tuple().exponent
    return Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
