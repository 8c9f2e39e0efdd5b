"""Benchmarked packets per second as multiples of theory's packets.

A packet rate belongs to the throughput of its run and changes with every request.  The number of packets per
frame, relative to theory's, also holds for other requests.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.fits.regimes import OVERLOADED as LOAD_TOLERANCE
from icmodel.tables.wire import wire

Floats = NDArray[np.float64]

PACKETS, SENT = "packets_", "_sent_"
"""Beginning of metrics of packets per second, and the part that marks those of the sender."""
Key = tuple[object, ...]


def as_multiples(data: Dataset, metric: str) -> Dataset | None:
    """The dataset with each packet rate [1/s] of a metric divided by theory's packets of the same run.

    Returns
    -------
    Dataset or None
        ``None`` where some row has no payload or load, or no goodput in the same run.
    """
    reached = _values(data, "goodput_bps")
    lost = {} if SENT in metric else _values(data, "loss_rate")
    points = list(data.points)
    for index, point in enumerate(points):
        if point.metric == metric:
            theory = _theory_per_s(data, point, reached, lost)
            if theory is None:
                return None
            points[index] = _over(point, theory)
    return replace(data, points=tuple(points))


def _values(data: Dataset, metric: str) -> dict[Key, dict[float | None, float]]:
    """Values of a metric by place and load."""
    found: dict[Key, dict[float | None, float]] = {}
    for point in data.of_metric(metric):
        found.setdefault(_place(point), {})[point.load_bps] = point.value
    return found


def _place(point: Point) -> Key:
    counts = point.cores, point.switches, point.endpoints, point.other_goodput_bps
    return point.protocol, point.payload_bytes, point.options, *counts


def _theory_per_s(
    data: Dataset,
    point: Point,
    reached: dict[Key, dict[float | None, float]],
    lost: dict[Key, dict[float | None, float]],
) -> float | None:
    """Theory's packets [1/s] in a row's run: below capacity, frames have packets of their own.

    A stream at its limit has full packets.
    """
    there = reached.get(_place(point), {})
    if point.payload_bytes is None or point.load_bps is None or not there:
        return None
    options = dict(zip(data.option_axes, point.options, strict=True))
    path = wire(data, point.protocol, {axis: value for axis, value in options.items() if value})
    payload = np.array([float(point.payload_bytes)])
    if point.load_bps <= LOAD_TOLERANCE * max(there.values()):
        arrives = 1 - lost.get(_place(point), {}).get(point.load_bps, 0.0)
        flowing, each = point.load_bps * arrives, path.packets(payload)
    else:
        bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
        unlimited = there.get(math.inf, max(there.values()))
        flowing, each = min(unlimited, bound), path.least_packets(payload)
    theory = float(each[0]) * flowing / 8 / point.payload_bytes
    return theory if theory > 0 else None


def _over(point: Point, theory: float) -> Point:
    """A row with all its numbers divided by another."""

    def over(number: float | None) -> float | None:
        return None if number is None else number / theory

    return point._replace(
        value=point.value / theory,
        std=over(point.std),
        low=over(point.low),
        high=over(point.high),
    )
