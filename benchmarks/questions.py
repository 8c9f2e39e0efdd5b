"""Random scenarios with every parameter varied, drawn block by block into columns.

The k-th scenario does not depend on the number of scenarios.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset
from icmodel.model import Model
from icmodel.scenario import Scenario

if TYPE_CHECKING:
    import xarray

Columns = dict[str, NDArray[Any]]

DATASET = "ethernet-10g-2012"
SEED = 2012
DRAWN_AT_ONCE = 65_536
RATE_EXPONENTS = (0.0, 7.0)
"""Rates are log-uniform from 1 to 10 million frames a second."""
MOST_OTHERS_BPS = 9e9
MOST_DISTANCE_M = 100.0
WHOLE = ("protocol", "payload_bytes", "cores", "switches", "endpoints")
NUMBERS = ("rate_fps", "other_goodput_bps", "distance_m")


def questions(
    data: Dataset, points: int, first: int = 0, protocols: tuple[str, ...] = ()
) -> Columns:
    """Draw scenarios ``first`` to ``first + points``, one column per parameter.

    Empty ``protocols`` mean all. ``first`` is a multiple of ``DRAWN_AT_ONCE``. Memory beyond the
    columns holds at most one block.
    """
    codes = np.array([data.protocols.index(name) for name in protocols or data.protocols])
    columns: Columns = {name: np.empty(points, dtype=np.int64) for name in WHOLE}
    columns |= {name: np.empty(points) for name in NUMBERS}
    for start in range(0, points, DRAWN_AT_ONCE):
        stop = min(start + DRAWN_AT_ONCE, points)
        for name, drawn in _draw(data, codes, (first + start) // DRAWN_AT_ONCE).items():
            columns[name][start:stop] = drawn[: stop - start]
    return columns


def _draw(data: Dataset, codes: NDArray[np.int64], block: int) -> Columns:
    """Draw one block of scenarios of the protocols with these codes, by its own random stream."""
    rng = np.random.default_rng([SEED, block])
    n = DRAWN_AT_ONCE
    protocol = codes[rng.integers(0, len(codes), n)]
    least, most = payload_ranges(data).T
    endpoints = rng.integers(1, 5, n)
    others = rng.uniform(0.0, MOST_OTHERS_BPS, n)
    return {
        "protocol": protocol,
        "payload_bytes": rng.integers(least[protocol], most[protocol] + 1),
        "cores": rng.integers(1, 5, n),
        "switches": rng.integers(0, 3, n),
        "endpoints": endpoints,
        "rate_fps": 10.0 ** rng.uniform(*RATE_EXPONENTS, n),
        "other_goodput_bps": np.where(endpoints > 1, others, 0.0),
        "distance_m": rng.uniform(0.0, MOST_DISTANCE_M, n),
    }


def payload_ranges(data: Dataset) -> NDArray[np.int64]:
    """Return least and greatest payload with a goodput, by protocol [B], shape (protocols, 2)."""
    ranges = []
    for protocol in data.protocols:
        payloads = [
            point.payload_bytes
            for point in data.points
            if point.protocol == protocol and point.metric == "goodput_bps" and point.payload_bytes
        ]
        ranges.append((min(payloads), max(payloads)))
    return np.array(ranges, dtype=np.int64)


def one(data: Dataset, asked: Columns, index: int) -> Scenario:
    """Return one of the scenarios as a `Scenario`."""
    values = {name: column[index].item() for name, column in asked.items() if name != "protocol"}
    return Scenario(protocol=data.protocols[int(asked["protocol"][index])], **values)


def answer(
    model: Model,
    asked: Columns,
    threads: int | None = None,
    metrics: tuple[str, ...] | None = None,
) -> xarray.Dataset:
    """Predict some metrics of every scenario, by default all metrics and the bottleneck."""
    columns: dict[str, Any] = dict(asked)
    return model.predict_many(intervals=False, threads=threads, metrics=metrics, **columns)
