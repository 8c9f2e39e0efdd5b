"""Curves through the rows of a dataset: one for each protocol, core count, switch count and load."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, Ints
from icmodel.dataset import RATIOS, Dataset, Point
from icmodel.estimate import BASES
from icmodel.estimate.statistics import NORMAL
from icmodel.tables.left_out import InterpolationErrors, interpolation_errors

VALUE, LOW, HIGH = 0, 1, 2
"""Indices into the `ends` axis of arrays: the value, and the low and the high of its interval."""
BUSY_CORES = ("cpu_send_cores", "cpu_recv_cores", "_process_cores")
"""Names, or endings of names, of metrics that count busy processor cores."""
MISSED = 1.1
"""Ratio of rate limit to goodput above which a run misses its limit (assumed).

A run that misses its rate limit has reached its capacity.
"""


Ends = TypeVar("Ends", Floats, Bools)


def opposite(ends: Ends) -> Ends:
    """Exchange low and high along the first axis (value, low, high) of an array.

    Use it to combine numbers that move in opposite directions.  For example, the least goodput goes with the greatest
    loss.  An array with only the value stays unchanged.
    """
    return ends if len(ends) == 1 else ends[[VALUE, HIGH, LOW]]


@dataclass(frozen=True, eq=False)
class Curve:
    """Curve of one metric over payload at one offered load, with an interval at each point.

    Parameters
    ----------
    load_bps : float
        Load [b/s]; ``inf`` for unlimited, NaN if the source does not state it.
    payload_bytes : array, shape (n,)
        Payloads of the points [B], ascending.
    ends : array, shape (3, n)
        Value, low and high of the metric at each point.
    basis : array, shape (n,)
        Basis (kind of evidence) of each point, as an index into ``BASES``.
    rows : array, shape (n,)
        Indices of dataset rows.  A point added between measured points has the index of the measured row before it.
    anywhere : bool
        Whether the curve is a single row without a payload.  The numbers of this row then hold at every payload, with
        the basis ``extrapolated``.
    next_rows : array, shape (n,), optional
        Index of the measured row after each point, if points were added.
    domain : (float, float), optional
        Range of measured payloads [B], if points were added beyond this range.
    between : array, shape (n − 1,), optional
        Half-width of the interpolation error in the middle of each gap between two points.  If given, intervals in the
        gap are wider than at the points, and low and high are clipped to ``limits``.
    limits : (float, float)
        Least and greatest possible value of the metric.
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
        """Least measured payload of the curve [B]; 1 if the curve holds at every payload."""
        if self.domain is not None:
            return self.domain[0]
        return 1.0 if self.anywhere else float(self.payload_bytes[0])

    @property
    def last(self) -> float:
        """Greatest measured payload of the curve [B]; infinite if the curve holds at every payload."""
        if self.domain is not None:
            return self.domain[1]
        return float("inf") if self.anywhere else float(self.payload_bytes[-1])

    def at(self, payload_bytes: Floats) -> Floats:
        """Interpolate value, low and high of the curve at some payloads, shape (3, n).

        Value, low and high are constant beyond the first and last payload.
        """
        found = np.stack([np.interp(payload_bytes, self.payload_bytes, end) for end in self.ends])
        if self.between is None or len(self.payload_bytes) == 1:
            return found
        own, gap = self.payload_bytes, self.gap_of(payload_bytes)
        share = (payload_bytes - own[gap]) / (own[gap + 1] - own[gap])
        share = np.minimum(np.maximum(share, 0.0), 1.0)
        found[LOW:] += self.widening[:, gap] * (4 * share * (1 - share))
        return found

    def value_at(self, payload_bytes: Floats) -> Floats:
        """Interpolate the value of the curve at some payloads, (n,), without low and high."""
        return np.asarray(np.interp(payload_bytes, self.payload_bytes, self.ends[VALUE]))

    def half_curvature(self, payload_bytes: Floats) -> Floats:
        """Coefficients of the squared payload in the metric's low and high, at n payloads, array (2, n).

        Axis 0 is low, high; axis 1 is the payload.  Between two points of the curve, low and high are polynomials of
        degree 2 in the payload.  So a coefficient is half the second derivative.  It is 0 beyond the first and last
        payload of the curve.
        """
        own, gap = self.payload_bytes, self.gap_of(payload_bytes)
        within = (payload_bytes >= own[0]) & (payload_bytes < own[-1])
        bent = 4 * self.widening[:, gap] / (own[gap + 1] - own[gap]) ** 2
        return np.where(within, -bent, 0.0)

    def gap_of(self, payload_bytes: Floats) -> Ints:
        """Find the gap between two points that contains each payload, as the index of the gap's left point.

        A payload outside the curve gets the nearest gap.
        """
        passed = self.payload_bytes.searchsorted(payload_bytes, side="right")
        return np.minimum(np.maximum(passed - 1, 0), len(self.payload_bytes) - 2)

    def next_measured_rows(self) -> Ints:
        """For each of the n points of the curve, index of the next dataset row measured at a greater payload, (n,).

        A point without such a row gets the index of its own row.  This is the last point of a curve, and the only point
        of a curve whose row states no payload.
        """
        if self.anywhere:
            return self.rows
        return (
            np.append(self.rows[1:], self.rows[-1:]) if self.next_rows is None else self.next_rows
        )

    @cached_property
    def widening(self) -> Floats:
        """Shift of low (down) and of high (up) in the middle of each gap between two of the n points, (2, n − 1).

        Interpolation between two points has an error of its own, so the interval is wider in the gap than at the
        points.  Let h be the mean of the half-widths at both points, and e the error ``between``.  In the middle of the
        gap, the half-width is √(h² + e²), and the shift is √(h² + e²) − h.  At the fraction t of the gap, the shift is
        multiplied by 4·t·(1 − t).

        Low must not cross the least possible value of the metric, nor high the greatest.  So the shift is at most
        (√a + √b)² / 4, where a and b are the distances from low (or high) to this limit at the left and right point.
        """
        value, middle = self.ends[VALUE], (self.ends[:, :-1] + self.ends[:, 1:]) / 2
        error = np.zeros(len(value) - 1) if self.between is None else self.between
        sign = np.array([[-1.0], [1.0]])
        half = sign * (middle[LOW:] - middle[VALUE])
        room = np.sqrt(np.maximum(sign * (np.array(self.limits)[:, None] - self.ends[LOW:]), 0.0))
        most = (room[:, :-1] + room[:, 1:]) ** 2 / 4
        return np.asarray(sign * np.minimum(np.hypot(half, error) - half, most))


def payload_knots(curves: Iterable[Iterable[float]], extra: Iterable[float] = ()) -> Floats:
    """Make the payload knots [B] of a table, ascending: the payloads of all curves, and ``extra``.

    A further knot lies one byte above the last payload of each curve, so that the last payload has a cell
    (payload interval) of its own.
    """
    knots = set(extra)
    for payloads in map(set, curves):
        knots |= payloads
        if payloads:
            knots.add(max(payloads) + 1)
    return np.array(sorted(knots) or [1.0])


def left_knots(knots: Floats) -> Floats:
    """Payload [B] at which each cell (payload interval) begins, (knots + 1,).

    There is one more cell than knots.  The first cell, below all knots, has no beginning: the first knot stands for it,
    as for the second cell.
    """
    return np.concatenate([knots[:1], knots])


# --- rows of a curve ------------------------------------------------------------------------------


class Row(NamedTuple):
    """Row (measured point) of a dataset; ``place`` is its index among the points of the dataset."""

    place: int
    point: Point


class Configuration(NamedTuple):
    """Configuration of a curve: the protocol, core count and switch count that all its rows share."""

    protocol: str
    cores: int | None
    switches: int


Curves = Mapping[Configuration, list[Curve]]


def configuration_of(point: Point) -> Configuration:
    """Configuration (protocol, core count and switch count) of a row; an unstated switch count is 0."""
    return Configuration(point.protocol, point.cores, point.switches or 0)


def alone(rows: Iterable[Row]) -> list[Row]:
    """Select the rows of streams that were measured without other streams on their interface."""
    return [
        row for row in rows if row.point.endpoints in (None, 1) and not row.point.other_goodput_bps
    ]


def curves_of(data: Dataset, rows: Iterable[Row], metric: str, *, bare: bool = False) -> Curves:
    """Make the curves of a metric, by configuration, from the given rows; rows of other metrics are ignored.

    If ``bare`` is true, the curves have values only, without intervals; the caller computes the intervals.
    """
    own = [row for row in rows if row.point.metric == metric]
    return _by_configuration(
        data, own, interpolation_errors(data, metric) if own and not bare else None
    )


def best_goodput(
    data: Dataset, rows: Iterable[Row], errors: InterpolationErrors | None, *, limited: bool
) -> Curves:
    """Make one goodput curve for each configuration: a protocol, core count and switch count.

    At each payload, the curve goes through the row of the greatest goodput.

    Parameters
    ----------
    data : Dataset
        The dataset.
    rows : iterable of Row
        Rows of the dataset; rows of other metrics are ignored.
    errors : InterpolationErrors or None
        Interpolation errors of the goodput; ``None`` makes curves without intervals.
    limited : bool
        If True, rows at all loads are used.  If False, only rows at capacity: runs without a rate limit.  A
        configuration without such runs uses the runs that did not reach their rate limit.
    """
    known = [row for row in rows if row.point.metric == "goodput_bps"]
    if not limited:
        unlimited = [row for row in known if not is_limited(row.point.load_bps)]
        covered = {configuration_of(row.point) for row in unlimited}
        known = unlimited + [
            row
            for row in known
            if configuration_of(row.point) not in covered and not is_paced(row.point)
        ]
    best: dict[tuple[Configuration, int | None], Row] = {}
    for row in known:
        key = (configuration_of(row.point), row.point.payload_bytes)
        if key not in best or row.point.value > best[key].point.value:
            best[key] = row
    return _by_configuration(data, [as_unlimited(row) for row in best.values()], errors)


def shared_goodput(
    data: Dataset, rows: Iterable[Row], errors: InterpolationErrors | None
) -> dict[int, Curves]:
    """Make goodput curves of a stream that shared its interface with other endpoints, by number of endpoints."""
    shared: dict[int, list[Row]] = {}
    for row in rows:
        point = row.point
        count = point.endpoints or 1
        if point.metric == "goodput_bps" and count > 1 and not is_limited(point.load_bps):
            shared.setdefault(count, []).append(as_unlimited(row))
    return {count: _by_configuration(data, shared[count], errors) for count in sorted(shared)}


def with_loads(curves: Curves, wanted: Callable[[float], bool]) -> Curves:
    """Select the curves whose load [b/s] the function ``wanted`` accepts."""
    kept = {key: [c for c in found if wanted(c.load_bps)] for key, found in curves.items()}
    return {key: found for key, found in kept.items() if found}


def is_limited(load_bps: float | None) -> bool:
    """Whether a run's load is limited; an unstated load counts as unlimited."""
    return load_bps is not None and math.isfinite(load_bps)


def is_paced(point: Point) -> bool:
    """Whether the goodput of a run was determined by its rate limit, rather than by the capacity."""
    return is_limited(point.load_bps) and point.value * MISSED >= (point.load_bps or 0.0)


def as_unlimited(row: Row) -> Row:
    """Copy a row with its load set to unlimited, so that rows measured at different loads form one curve."""
    return Row(row.place, row.point._replace(load_bps=np.inf))


def _by_configuration(
    data: Dataset, rows: Sequence[Row], errors: InterpolationErrors | None
) -> Curves:
    """Make curves from the rows of one metric, grouped by configuration and load.

    The intervals of the curves follow from ``errors``, the interpolation errors of the metric. If it is ``None``, low
    and high equal the value.
    """
    groups: dict[tuple[Configuration, float], list[Row]] = {}
    for row in rows:
        load = row.point.load_bps
        key = (configuration_of(row.point), -1.0 if load is None or math.isnan(load) else load)
        groups.setdefault(key, []).append(row)
    curves: dict[Configuration, list[Curve]] = {}
    for (configuration, load), members in groups.items():
        curve = _curve_through(data, errors, np.nan if load == -1.0 else load, members)
        curves.setdefault(configuration, []).append(curve)
    return curves


def _curve_through(
    data: Dataset, errors: InterpolationErrors | None, load_bps: float, members: Sequence[Row]
) -> Curve:
    """Make the curve through rows of one metric, configuration and load.

    If no row has a payload, the curve has only the first row, whose numbers hold at every payload.  Each interval
    covers the differences between measurement sessions, and stays within the limits of the metric.
    """
    with_payload = {
        row.point.payload_bytes: row
        for row in sorted(members, key=lambda row: row.point.options)
        if row.point.payload_bytes is not None
    }
    chosen = [with_payload[payload] for payload in sorted(with_payload)] or list(members[:1])
    points = [row.point for row in chosen]
    metric, cores = points[0].metric, points[0].cores
    payload = np.array([float(p.payload_bytes or 1) for p in points])
    value = np.array([p.value for p in points])
    least, most = stated_range(data, metric, points[0].protocol)
    # The stated core count limits the busy cores, unless a row above this count shows that the host had more cores.
    if metric.endswith(BUSY_CORES) and cores and max(p.value for p in points) <= cores:
        most = min(most, float(cores))
    ends = np.stack([value] * 3)
    if errors is not None:
        session = NORMAL * data.between_sessions.get(metric, 0.0)
        of_value = np.abs(value) if errors.relative else np.ones_like(value)
        below, above = np.hypot(errors.of_rows(points), session * of_value)
        ends[LOW] = np.minimum(np.maximum(value - below, least), value)
        ends[HIGH] = np.maximum(np.minimum(value + above, most), value)
    return Curve(
        load_bps=load_bps,
        payload_bytes=payload,
        ends=ends,
        basis=np.array([BASES.index(p.basis) for p in points], dtype=np.int8),
        rows=np.array([row.place for row in chosen], dtype=np.int64),
        anywhere=not with_payload,
        between=None if errors is None else errors.between(payload, value),
        limits=(least, most),
    )


def stated_range(data: Dataset, metric: str, protocol: str) -> tuple[float, float]:
    """Find the least and greatest possible value of a metric.

    The range is 0 to 1 for ratios, and 0 to infinity for other metrics, narrowed to the limits stated by the source.
    """
    least, most = 0.0, 1.0 if metric in RATIOS else np.inf
    for limit in data.stated_limits:
        if limit.metric == metric and limit.protocol in (None, protocol):
            least, most = max(least, limit.minimum), min(most, limit.maximum)
    return least, most
