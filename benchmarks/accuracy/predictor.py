"""Interface of predictors, and the forms in which they receive rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.estimate import Estimate, absent
from icmodel.validate.folds import Fold, curve_key

Floats = NDArray[np.float64]

Answerer = Callable[[Fold], Sequence[Estimate]]
"""Function that learns a fold's training rows and answers its test rows. It can be pickled for workers."""
Predictor = Callable[[Dataset, Sequence[Fold]], Answerer]
"""Function that makes an answerer for the folds of one dataset."""

PER_SECOND = ("frames_per_s", "packets_sent_per_s", "packets_received_per_s")
TIMES = ("latency_", "rtt_")


class Unanswerable(Exception):  # noqa: N818  (says more than an Error at its end would)
    """A predictor has no answer to one row; the text says why."""


@dataclass(frozen=True, slots=True)
class Line:
    """Training rows beside a test row: same metric along one axis, other parameters equal."""

    x: Floats
    y: Floats
    at: float

    @property
    def inside(self) -> bool:
        """Whether there are training rows on both sides of the test row."""
        return len(self.x) > 0 and bool(self.x[0] < self.at < self.x[-1])


def guess(value: float, low: float = math.nan, high: float = math.nan) -> Estimate:
    """Make an estimate from a value and its interval; absent if the value is not finite."""
    if not math.isfinite(value):
        return absent("the answer is no finite number")
    return Estimate(value, low, high, "interpolated")


def one_by_one(answer: Callable[[Fold, Point], Estimate]) -> Answerer:
    """Make an answerer that takes rows one at a time and turns refusals into absent estimates."""
    return partial(_one_by_one, answer)


def _one_by_one(answer: Callable[[Fold, Point], Estimate], fold: Fold) -> list[Estimate]:
    found = []
    for point in fold.test:
        try:
            found.append(answer(fold, point))
        except Unanswerable as refusal:
            found.append(absent(str(refusal)))
    return found


def along_payload(fold: Fold, point: Point) -> Line:
    """Return the training rows on the curve of a test row.

    Raises
    ------
    Unanswerable
        If the row has no payload.
    """
    if point.payload_bytes is None:
        raise Unanswerable("the row has no payload")
    here = curve_key(fold.train, point)
    rows = [
        (p.payload_bytes, p.value)
        for p in fold.train.points
        if p.metric == point.metric
        and p.protocol == point.protocol
        and p.payload_bytes is not None
        and curve_key(fold.train, p) == here
    ]
    return _line(rows, point.payload_bytes)


def along_load(fold: Fold, point: Point) -> Line:
    """Return the training rows at a test row's payload and other loads, except unlimited ones."""
    if point.load_bps is None or math.isinf(point.load_bps):
        return _line([], 1.0)
    here = curve_key(fold.train, point)[:-1]
    rows = [
        (p.load_bps, p.value)
        for p in fold.train.points
        if p.metric == point.metric
        and p.payload_bytes == point.payload_bytes
        and p.load_bps is not None
        and math.isfinite(p.load_bps)
        and curve_key(fold.train, p)[:-1] == here
    ]
    return _line(rows, point.load_bps)


def _line(rows: Sequence[tuple[float, float]], at: float) -> Line:
    known = dict(sorted(rows))
    return Line(np.array(list(known), dtype=float), np.array(list(known.values())), float(at))


# --- time of one message ------------------------------------------------------------------------


def is_time_or_rate(metric: str) -> bool:
    """Whether a metric is a time, or a rate that follows from the time of one message."""
    return metric.startswith(TIMES) or metric.endswith("goodput_bps") or metric in PER_SECOND


def to_time(metric: str, payload_bytes: Floats, value: Floats) -> Floats:
    """Convert a rate to the time of one message [s]; other metrics stay unchanged."""
    if metric.endswith("_bps"):
        return payload_bytes * 8 / value
    return 1 / value if metric in PER_SECOND else value


def from_time(metric: str, payload_bytes: float, seconds: float) -> float:
    """Convert the time of one message back to a metric.

    Raises
    ------
    Unanswerable
        If the metric is a rate, and the time is not above 0.
    """
    if not metric.endswith("_bps") and metric not in PER_SECOND:
        return seconds
    if not seconds > 0:
        raise Unanswerable("the model's time of one message is not above 0")
    return payload_bytes * 8 / seconds if metric.endswith("_bps") else 1 / seconds
