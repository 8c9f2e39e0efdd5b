"""Scatter: how far repeats of a metric lie from one another, which a mistake must stand out of."""

from __future__ import annotations

import math
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from icmodel.ingest.seen import Curve, Seen

SURE = 3.0
"""A mistake must be that much larger (log) than what the others scatter by."""
TELLING = 8
"""Deviations of repeats from which on they say how noisy a metric is."""
TAIL = 0.9
"""The share of the deviations that the scatter of a metric covers."""
MANY = 20
"""Repeats of one point from which one alone moves no median."""

Point = tuple[Curve, int | None]
Kind = tuple[object, object]
"""Metric and protocol."""


class Scatter:
    """The numbers of files by point, and how far repeats of each metric lie from one another."""

    def __init__(self, numbers: Sequence[Seen]) -> None:
        points: dict[Point, dict[str, float]] = defaultdict(dict)
        self._rounded: dict[Point, float] = defaultdict(float)
        for number in numbers:
            points[number.curve, number.place][number.file] = number.value
            self._rounded[number.curve, number.place] = max(
                self._rounded[number.curve, number.place], math.log1p(number.half / number.value)
            )
        self.points: Mapping[Point, Mapping[str, float]] = points
        self._of: dict[Point, list[float]] = {}
        self._in: dict[tuple[str, Kind], list[Point]] = defaultdict(list)
        self._all: dict[Kind, list[float]] = defaultdict(list)
        for point, at in points.items():
            self._of[point] = _deviations(at.values())
            for off in self._of[point]:
                insort(self._all[_kind(point)], off)
            for file in at:
                self._in[file, _kind(point)].append(point)

    def blur(self, number: Seen) -> float:
        """How far (log) a number may lie off for noise or for the rounding of what is printed."""
        return max(self.of_others(number), self.rounding(number))

    def rounding(self, number: Seen) -> float:
        """How far (log) rounding can move what the files say at the point of a number."""
        return self._rounded[number.curve, number.place]

    def of_others(self, number: Seen) -> float:
        """How far (log) the other files scatter in a metric; 0 where too little is repeated."""
        kind = _kind((number.curve, number.place))
        rest = list(self._all[kind])
        for point in self._in[number.file, kind]:
            for off in self._of[point]:
                rest.remove(off)
            at = self.points[point]
            rest += _deviations(value for file, value in at.items() if file != number.file)
        if len(rest) < TELLING:
            return 0.0
        return sorted(rest)[int(TAIL * (len(rest) - 1))]


def _kind(point: Point) -> Kind:
    return point[0][0], point[0][1]


def _deviations(values: Iterable[float]) -> list[float]:
    """How far (log) each of some repeats lies from the median of the others; none of one alone."""
    some = list(values)
    if len(some) < 2:
        return []
    middle = median(some)
    return [
        abs(
            math.log(
                value / (middle if len(some) > MANY else median([*some[:at], *some[at + 1 :]]))
            )
        )
        for at, value in enumerate(some)
    ]
