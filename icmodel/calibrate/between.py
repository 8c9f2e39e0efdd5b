"""Between: how wrong a model that goes from point to point is, and where a point would help.

A dataset answers along curves: payloads at one load. Between two points of a curve it can be
wrong by what the surface says against the straight line, by what the surface does not know, and
by the noise of the two points. A new point takes that away at its place, and less towards its
neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from icmodel.calibrate.run import Run
from icmodel.calibrate.surface import Surface

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DISTRUST = 0.2
"""What no surface knows of: so much of a metric's spread for every doubling of the payload."""
CurveKey = tuple[str, float, int]
"""Protocol, load and cores."""


def curve_of(run: Run) -> CurveKey:
    """The curve a run is on."""
    return (run.protocol, run.load_bps, run.cores)


@dataclass(slots=True)
class _Curve:
    """Points of one curve: logarithm of the payload -> mean and number of repeats."""

    candidates: Ints
    domain: Ints
    points: dict[float, tuple[float, float]] = field(default_factory=dict)


class Between:
    """The error along all curves of one metric, and by how much each candidate would lessen it.

    Parameters
    ----------
    surface : Surface
        Of the metric.
    candidates, domain : sequence of runs
        What may be measured, and where it is to be right.
    """

    def __init__(self, surface: Surface, candidates: Sequence[Run], domain: Sequence[Run]) -> None:
        self._noise = surface.kernel.noise
        self._distrust = DISTRUST * float(np.std(surface.seen.values))
        self._thought, _ = surface.predict(candidates)
        self._expected, _ = surface.predict(domain)
        self._at = np.log2([float(run.payload_bytes) for run in candidates])
        self._asked = np.log2([float(run.payload_bytes) for run in domain])
        self._curves = _curves(candidates, domain)
        self._of = [curve_of(run) for run in candidates]
        seen = surface.seen
        for run, value, repeats in zip(seen.runs, seen.values, seen.repeats, strict=True):
            curve = self._curves.get(curve_of(run))
            if curve is not None:
                place = float(np.log2(run.payload_bytes))
                curve.points[place] = (float(value), float(repeats))

    def gains(self, unknown: Floats) -> Floats:
        """What share of the error over the domain each candidate takes away.

        The share, not the error itself: no metric counts more than another for being worse.
        ``unknown`` is the surface's standard deviation at the places of the domain.
        """
        found, whole = np.zeros(len(self._at)), 0.0
        for curve in self._curves.values():
            found[curve.candidates], error = self._on(curve, unknown[curve.domain])
            whole += error
        return found / whole if whole > 0 else found

    def _on(self, curve: _Curve, unknown: Floats) -> tuple[Floats, float]:
        """What each candidate of a curve takes away, and the error along the curve."""
        places, asked = self._at[curve.candidates], self._asked[curve.domain]
        knots = np.array(sorted(curve.points))
        if not len(knots):
            whole = float(np.sum(unknown))
            return np.full(len(places), whole), whole
        values = np.array([curve.points[knot][0] for knot in knots])
        repeats = np.array([curve.points[knot][1] for knot in knots])
        line = np.interp(asked, knots, values)
        gaps = np.min(np.abs(asked[:, None] - knots[None, :]), axis=1)
        bend = line - self._expected[curve.domain]
        error = np.sqrt(bend**2 + unknown**2 + (self._distrust * gaps) ** 2)
        beside = np.searchsorted(knots, places)
        known = np.isin(places, knots)
        left = np.where(beside > 0, knots[np.maximum(beside - 1, 0)], places - 1.0)
        right_index = np.minimum(beside + known, len(knots) - 1)
        right = np.where(beside + known < len(knots), knots[right_index], places + 1.0)
        up = (asked[None, :] - left[:, None]) / np.maximum(places - left, 1e-9)[:, None]
        down = (right[:, None] - asked[None, :]) / np.maximum(right - places, 1e-9)[:, None]
        reach = np.clip(np.minimum(up, down), 0.0, 1.0)
        count = repeats[np.minimum(beside, len(knots) - 1)]
        better = self._noise * (1.0 / np.sqrt(count) - 1.0 / np.sqrt(count + 1.0))
        gains = np.where(known, reach.sum(axis=1) * better, reach @ error)
        return gains, float(np.sum(np.hypot(error, self._noise)))

    def measure(self, index: int) -> None:
        """Take a candidate as measured, with the value the surface expects."""
        curve, place = self._curves[self._of[index]], float(self._at[index])
        value, repeats = curve.points.get(place, (float(self._thought[index]), 0.0))
        curve.points[place] = (value, repeats + 1.0)


def _curves(candidates: Sequence[Run], domain: Sequence[Run]) -> dict[CurveKey, _Curve]:
    mine = _grouped(candidates)
    asked = _grouped(domain)
    none = np.zeros(0, dtype=np.int64)
    return {key: _Curve(indices, asked.get(key, none)) for key, indices in mine.items()}


def _grouped(runs: Sequence[Run]) -> dict[CurveKey, Ints]:
    found: dict[CurveKey, list[int]] = {}
    for index, run in enumerate(runs):
        found.setdefault(curve_of(run), []).append(index)
    return {key: np.array(indices, dtype=np.int64) for key, indices in found.items()}
