"""A curve: one metric over payload at one load, as points joined by lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints

VALUE, LOW, HIGH = 0, 1, 2
"""First index of arrays of ends: the value, and the two ends of its interval."""


Ends = TypeVar("Ends", Floats, Bools)


def opposite(ends: Ends) -> Ends:
    """Exchange low and high along the first axis; an array of the value alone stays as it is.

    The least goodput goes with the most loss and the longest latency.
    """
    return ends if len(ends) == 1 else ends[[VALUE, HIGH, LOW]]


@dataclass(frozen=True, eq=False)
class Curve:
    """One metric over payload at one load.

    ``load_bps`` is ``inf`` for unlimited and NaN where the source does not state it.  ``ends`` has the
    shape (3, n): value, low, high.  ``rows`` are indices of dataset rows.  A row without a payload is a curve of one
    point that holds at every payload (``anywhere``), marked ``extrapolated``.  For points that were added between
    measured ones, ``rows`` is the measured row before and ``next_rows`` the one behind; where points were
    added beyond, ``domain`` is the range of measured payloads.

    ``between`` (n − 1,) is the half-width of the interpolation error in the middle of each gap, which adds to the
    half-widths of the points; ``None`` without such an error.  With it no end crosses ``limits``.
    """

    load_bps: float
    payload_bytes: Floats
    ends: Floats
    basis: Codes
    rows: Ints
    anywhere: bool = False
    next_rows: Ints | None = None
    domain: tuple[float, float] | None = None
    between: Floats | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)

    @property
    def first(self) -> float:
        """Least payload [B]."""
        if self.domain is not None:
            return self.domain[0]
        return 1.0 if self.anywhere else float(self.payload_bytes[0])

    @property
    def last(self) -> float:
        """Greatest payload [B]."""
        if self.domain is not None:
            return self.domain[1]
        return float("inf") if self.anywhere else float(self.payload_bytes[-1])

    def at(self, payload_bytes: Floats) -> Floats:
        """Value, low and high at some payloads, constant beyond the curve's ends; shape (3, n)."""
        told = np.stack([np.interp(payload_bytes, self.payload_bytes, end) for end in self.ends])
        if self.between is None or len(self.payload_bytes) == 1:
            return told
        own, gap = self.payload_bytes, self.gap_of(payload_bytes)
        share = (payload_bytes - own[gap]) / (own[gap + 1] - own[gap])
        share = np.minimum(np.maximum(share, 0.0), 1.0)
        told[LOW:] += self.bulges[:, gap] * (4 * share * (1 - share))
        return told

    def value_at(self, payload_bytes: Floats) -> Floats:
        """The value alone at some payloads, (n,)."""
        return np.asarray(np.interp(payload_bytes, self.payload_bytes, self.ends[VALUE]))

    def bends(self, payload_bytes: Floats) -> Floats:
        """Half the second derivative of low and high over payload at some payloads, (2, n); 0 beyond the ends."""
        own, gap = self.payload_bytes, self.gap_of(payload_bytes)
        within = (payload_bytes >= own[0]) & (payload_bytes < own[-1])
        bent = 4 * self.bulges[:, gap] / (own[gap + 1] - own[gap]) ** 2
        return np.where(within, -bent, 0.0)

    def gap_of(self, payload_bytes: Floats) -> Ints:
        """Index of the gap in which each payload lies, which is that of its left point; the outer gaps beyond."""
        passed = self.payload_bytes.searchsorted(payload_bytes, side="right")
        return np.minimum(np.maximum(passed - 1, 0), len(self.payload_bytes) - 2)

    def rows_behind(self) -> Ints:
        """The measured row behind each point, the row itself at the end and where it holds at every payload."""
        if self.anywhere:
            return self.rows
        return (
            np.append(self.rows[1:], self.rows[-1:]) if self.next_rows is None else self.next_rows
        )

    @cached_property
    def bulges(self) -> Floats:
        """What is added to low and high in the middle of each gap, shape (2, n − 1).

        The interpolation error adds in quadrature to the half-widths of the points.  Within
        the gap it follows a parabola, 4·t·(1 − t) at the fraction t, which stays within a
        limit at distances a and b from the points while it is at most (√a + √b)² / 4.
        """
        value, middle = self.ends[VALUE], (self.ends[:, :-1] + self.ends[:, 1:]) / 2
        error = np.zeros(len(value) - 1) if self.between is None else self.between
        sign = np.array([[-1.0], [1.0]])
        half = sign * (middle[LOW:] - middle[VALUE])
        room = np.sqrt(np.maximum(sign * (np.array(self.limits)[:, None] - self.ends[LOW:]), 0.0))
        most = (room[:, :-1] + room[:, 1:]) ** 2 / 4
        return np.asarray(sign * np.minimum(np.hypot(half, error) - half, most))


def payload_knots(curves: Iterable[Iterable[float]], extra: Iterable[float] = ()) -> Floats:
    """The union of all curves' payloads; each curve's end is closed by another knot one byte above."""
    knots = set(extra)
    for payloads in map(set, curves):
        knots |= payloads
        if payloads:
            knots.add(max(payloads) + 1)
    return np.array(sorted(knots) or [1.0])


def left_knots(knots: Floats) -> Floats:
    """The left knot of each payload cell, shape (knots + 1,); the first cell uses the first knot."""
    return np.concatenate([knots[:1], knots])
