"""Measured rows of one metric as arrays: sites, values and uncertainty.

A site is a combination of payload, load and labels.  One label is the regime of the load: unlimited,
limited, overload or unstated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Point
from icmodel.dataset.rows import POINT
from icmodel.estimate.statistics import COVERAGE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Label = tuple[str, ...]
Carrier = Callable[[str, Mapping[str, str], Floats], tuple[Floats, Floats, Floats, Floats]]
"""Type of a function that computes how frames travel on the wire.

Its parameters are protocol, options and payloads [B].  It returns four arrays: packets per frame,
packets per frame in a stream of full packets, wire time [s], and least time between frames [s].
"""

PER_BIT, PER_FRAME, DIRECT = "per bit", "per frame", "direct"
SHIFTS = {"loss_rate": 0.1, "cpu_": 0.01}
"""Shifts added before the logarithm to metrics that can be 0, by prefix of the metric.

For values far below the shift, the fit minimises absolute errors instead of relative errors.
"""
SMALLEST = 1e-3
"""Shift of a metric that is not in `SHIFTS` but has a value of 0, as a fraction of its median positive value."""

FLOWS = ("_bps", "_per_s")
"""Suffixes of metrics that are rates (b/s or 1/s)."""
PACKETS = "packets_"
"""Prefix of packet metrics, which are fitted as multiples of the theoretical packet rate.

A multiple is below 1 if a sender merges frames.
"""
ROUNDING = 1e-9
"""A value converted back from its logarithm counts as 0 if it is below this fraction of the shift (see `SHIFTS`)."""

NO_PAYLOAD = "no payload"
"""Label of rows without a payload, such as calls without data; the fit uses a payload of 1 B for them."""
FULLEST = 0.97
"""Upper limit of the utilisation of hosts below capacity, since the capacity is known to a few per cent."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Conversion of a metric's values to log time and back.

    Log time is the natural logarithm of the time per frame for a rate, and of the value for any other
    metric.

    ``kind`` is ``PER_BIT`` for a rate in b/s (time per frame = payload / rate), ``PER_FRAME`` for a
    rate in 1/s (time per frame = 1 / rate), and ``DIRECT`` for other metrics.  If a value can be 0,
    a small ``shift`` is added to all values, since 0 has no logarithm; otherwise ``shift`` is 0.

    >>> import numpy as np
    >>> per_bit = quantity("goodput_bps", np.array([8e8]))
    >>> time_s = np.exp(per_bit.log_time(np.array([8e8]), np.array([1000.0])))
    >>> f"{time_s[0]:.1e} s a frame"
    '1.0e-05 s a frame'
    """

    kind: str
    shift: float

    def log_time(self, values: Floats, payload_bytes: Floats) -> Floats:
        """Convert n values of the metric to the natural logarithms that are fitted, array (n,).

        For a rate, it is the logarithm of the time per frame [s].  For any other metric, it is the
        logarithm of the value.  First, ``shift`` is added to the value.
        """
        logs = np.log(values + self.shift)
        if self.kind == PER_BIT:
            return np.asarray(np.log(8 * payload_bytes) - logs)
        return np.asarray(-logs if self.kind == PER_FRAME else logs)

    def value(self, log_time: Floats, payload_bytes: Floats) -> Floats:
        """Convert fitted logarithms (n,) back to values of the metric in SI units, (n,).

        ``log_time`` is the natural log of the time per frame [s] for a rate, and of the value for any
        other metric; see :meth:`log_time`.
        """
        if self.kind == PER_BIT:
            logs = np.log(8 * payload_bytes) - log_time
        else:
            logs = -log_time if self.kind == PER_FRAME else log_time
        found = np.exp(logs) - self.shift
        return np.where(found < ROUNDING * self.shift, 0.0, found)

    @property
    def falls(self) -> bool:
        """Whether the metric falls as the fitted time rises: true for a rate, which is fitted as time per frame."""
        return self.kind != DIRECT


def quantity(metric: str, values: Floats) -> Quantity:
    """Choose how a metric's values are converted to the logarithms that are fitted.

    A metric whose name ends like a rate (``_bps`` or ``_per_s``) is fitted as the log of the time per
    frame [s], any other as the log of its value.  The logarithm is that of value + shift, since values
    can be 0.  `SHIFTS` gives the shift for some names.  Otherwise it is 0 if all ``values`` are above 0,
    and a small fraction of their median if not.
    """
    kind = DIRECT
    if metric.endswith("_bps"):
        kind = PER_BIT
    elif metric.endswith("_per_s"):
        kind = PER_FRAME
    for name, shift in SHIFTS.items():
        if metric.startswith(name):
            return Quantity(kind, shift)
    positive = values[values > 0]
    if len(positive) == len(values):
        return Quantity(kind, 0.0)
    return Quantity(kind, SMALLEST * float(np.median(positive)) if len(positive) else 1.0)


@dataclass(frozen=True, eq=False)
class Sites:
    """Sites: n combinations of payload, load and labels at which a metric is known or predicted.

    Each field is an array (n,), except ``labels`` (n, columns).  ``packets`` is the packet count of
    a lone frame, and ``least_packets`` the count in a stream of full packets.  ``wire_s`` is the
    time of a lone frame on the wire [s], and ``least_s`` the least time between frames [s].

    The columns of ``labels`` are the protocol, the options, the counts of cores, switches and endpoints,
    the other endpoints' goodput, whether there is a payload, and the regime of the load (such as
    unlimited, limited or overload).  Sites with equal labels belong to one configuration, and differ
    only in payload and load.
    """

    payload_bytes: Floats
    load_bps: Floats  # offered load; 1 if not limited
    packets: Floats
    least_packets: Floats
    wire_s: Floats
    least_s: Floats
    labels: NDArray[np.str_]
    frames_per_s: Floats  # throughput; 0 if not known
    queue: Floats  # mean queue in frames; 0 unless below capacity

    def __len__(self) -> int:
        return len(self.payload_bytes)

    @cached_property
    def by_protocol(self) -> dict[str, Ints]:
        """Indices of the sites (combinations of payload, load and labels) of each protocol."""
        return {name: where for (name,), where in _by_labels(self.labels[:, :1]).items()}

    @cached_property
    def by_configuration(self) -> dict[Label, Ints]:
        """Indices of the sites of each configuration: of a protocol with its options and counts.

        The sites of a configuration differ only in payload and load.
        """
        return _by_labels(self.labels)

    @cached_property
    def by_curve(self) -> dict[tuple[Label, float], Ints]:
        """Indices of the sites (points) on each curve, by labels and load; sites of a curve differ only in payload."""
        found: dict[tuple[Label, float], Ints] = {}
        for labels, members in self.by_configuration.items():
            loads = self.load_bps[members]
            for load in np.unique(loads).tolist():
                found[labels, load] = members[loads == load]
        return found

    @cached_property
    def at_limit(self) -> Bools:
        """Mask (n,) of the sites (points) at which hosts are at their limit: unlimited load or overload."""
        return np.isin(self.labels[:, -1], (UNLIMITED, OVERLOAD))

    @cached_property
    def twins(self) -> tuple[Ints, ...]:
        """Groups of two or more sites with equal payload, load and labels, as arrays of indices.

        In overload, the offered load has little effect, so it may differ within a group.
        """
        load = np.where(self.labels[:, -1] == OVERLOAD, 1.0, self.load_bps)
        labels = (np.unique(column, return_inverse=True)[1] for column in self.labels.T)
        points = np.column_stack([self.payload_bytes, load, *labels])
        _, point, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        flat = point.reshape(-1)
        return tuple(np.flatnonzero(flat == k) for k in np.flatnonzero(counts > 1).tolist())

    def take(self, where: Ints) -> Sites:
        """Select the sites (points of payload, load and labels) with the given indices."""
        return Sites(
            self.payload_bytes[where],
            self.load_bps[where],
            self.packets[where],
            self.least_packets[where],
            self.wire_s[where],
            self.least_s[where],
            self.labels[where],
            self.frames_per_s[where],
            self.queue[where],
        )


def _by_labels(labels: NDArray[np.str_]) -> dict[Label, Ints]:
    """Group rows by their labels: combination of labels -> indices of the rows that have it."""
    if len(labels) and (labels == labels[0]).all():
        return {tuple(labels[0].tolist()): np.arange(len(labels))}
    unique, inverse = np.unique(labels, axis=0, return_inverse=True)
    flat = inverse.reshape(-1)
    return {tuple(row): np.flatnonzero(flat == k) for k, row in enumerate(unique.tolist())}


@dataclass(frozen=True, slots=True)
class Observations:
    """Measured rows of one metric: n sites (payload, load and labels), and arrays (n,) of their numbers.

    ``values`` are the measured values.  ``variance`` is the relative variance of each row's mean: the
    variance divided by the square of the value; 0 for a row that states no number of runs.
    """

    sites: Sites
    values: Floats
    variance: Floats
    spread: Floats
    """Relative standard deviation between the runs of each row, (n,).

    The spread is the root mean square of two deviations: the row's own, and the deviation pooled over
    all rows.  A row without a stated deviation has the pooled deviation.  If no row states a
    deviation, the spread is 0.
    """

    def take(self, where: Ints) -> Observations:
        """Select the rows with the given indices, which must ascend."""
        if len(where) == len(self.values):
            return self
        values, variance, spread = self.values[where], self.variance[where], self.spread[where]
        return Observations(self.sites.take(where), values, variance, spread)


def label(
    data: Dataset, point: Point, regime: str, options: Mapping[str, str] | None = None
) -> Label:
    """Make the label of a measured row: a tuple of these strings, in this order.

    - protocol
    - value on each option axis: from ``options`` if given, otherwise from the row (default if empty)
    - cores, switches, endpoints, and goodput of the other endpoints
    - whether the row has a payload
    - ``regime`` of its load, such as unlimited or overload
    """
    own = dict(zip(data.option_axes, point.options, strict=True)) if options is None else options
    values = (own.get(axis) or data.option_defaults[axis] for axis in data.option_axes)
    counts = (point.cores, point.switches or 0, point.endpoints or 1, point.other_goodput_bps or 0)
    payload = NO_PAYLOAD if point.payload_bytes is None else "payload"
    return (point.protocol, *values, *(str(count) for count in counts), payload, regime)


def sites(
    data: Dataset,
    carrier: Carrier,
    payload_bytes: Floats,
    load_bps: Floats,
    labels: Sequence[Label],
) -> Sites:
    """Make n sites from payloads [B], loads [b/s] and labels, with packets and wire times."""
    names = np.array(labels, dtype=np.str_).reshape(len(payload_bytes), -1)
    kinds: dict[Label, list[int]] = {}
    for index, full in enumerate(labels):
        kinds.setdefault(full[: 1 + len(data.option_axes)], []).append(index)
    wire = np.empty((4, len(payload_bytes)))
    for kind, members in kinds.items():
        wire[:, members] = _wire(data, carrier, kind, payload_bytes[members])
    return _sites(payload_bytes, load_bps, wire, names)


def curve_sites(
    data: Dataset, carrier: Carrier, payload_bytes: Floats, load_bps: float, label: Label
) -> Sites:
    """Make the sites of one curve: one label and one load [b/s], at some payloads [B]."""
    names = np.repeat(np.array([label], dtype=np.str_), len(payload_bytes), axis=0)
    wire = _wire(data, carrier, label[: 1 + len(data.option_axes)], payload_bytes)
    return _sites(payload_bytes, np.full(len(payload_bytes), load_bps), wire, names)


def _wire(data: Dataset, carrier: Carrier, kind: Label, payload_bytes: Floats) -> Floats:
    """Compute four theoretical properties of a frame at n payloads; the result is an array (4, n).

    They are the number of packets if the frame is sent alone; the number of packets per frame in a
    stream that fills its packets, which may be a fraction; the time on the wire of a frame sent alone
    [s]; and the least time between frames of a stream [s].  ``carrier`` is the function that computes
    them.  ``kind`` is the start of a label: the protocol and its options.
    """
    protocol, *values = kind
    options = {axis: value for axis, value in zip(data.option_axes, values, strict=True) if value}
    return np.stack(carrier(protocol, options, payload_bytes))


def _sites(
    payload_bytes: Floats, load_bps: Floats, wire: Floats, labels: NDArray[np.str_]
) -> Sites:
    finite = np.isfinite(load_bps) & (load_bps > 0)
    nothing = np.zeros_like(payload_bytes)
    load = np.where(finite, load_bps, 1.0)
    packets, least_packets, wire_s, least_s = wire
    return Sites(
        payload_bytes, load, packets, least_packets, wire_s, least_s, labels, nothing, nothing
    )


def unlimited(where: Sites) -> Sites:
    """Copy sites (payload, load and labels) with the unlimited load; throughput and queue are reset to unknown."""
    labels = np.column_stack([where.labels[:, :-1], np.full(len(where), UNLIMITED)])
    nothing = np.zeros_like(where.payload_bytes)
    load = np.ones_like(where.payload_bytes)
    return replace(where, load_bps=load, labels=labels, frames_per_s=nothing, queue=nothing)


def flowing(where: Sites, capacity_bps: Floats) -> Sites:
    """Add throughput and queue length to n sites (payload, load and labels).

    ``capacity_bps`` (n,) is the greatest goodput at each site [b/s].  The throughput [frames/s] is the
    offered load, at most the capacity.  If the load is not stated, the throughput is unknown (0).  The
    mean queue at the utilisation ρ is ρ / (1 − ρ), as for Poisson arrivals (M/M/1).  ρ is limited to
    ``FULLEST``, since near 1 a run is too short to fill the queue.
    """
    capacity = capacity_bps / (8 * where.payload_bytes)
    offered = where.load_bps / (8 * where.payload_bytes)
    regime = where.labels[:, -1] if len(where) else np.array([], dtype=np.str_)
    limited, unstated = regime == LIMITED, regime == UNSAID
    rho = np.minimum(
        np.divide(offered, capacity, out=np.ones_like(capacity), where=capacity > 0), FULLEST
    )
    throughput = np.where(limited, np.fmin(offered, capacity), np.where(unstated, 0.0, capacity))
    return replace(
        where,
        frames_per_s=np.nan_to_num(throughput),
        queue=np.nan_to_num(np.where(limited, rho / (1 - rho), 0.0)),
    )


def observations(data: Dataset, metric: str, carrier: Carrier) -> Observations | None:
    """Collect the measured rows of a metric for a fit; ``None`` if there are fewer than three.

    For the goodput, only rows that show the capacity are taken: rows of unlimited or unstated load,
    rows in overload, and, on each curve with overload, one row at the payload just below and one at
    the payload just above those in overload.  The goodput of other rows is about the offered load.
    """
    points: Sequence[Point] = data.of_metric(metric)
    regimes = regimes_of(data, points)
    if metric == "goodput_bps":
        over = rows_in_overload(data, points)
        free = [k for k, regime in enumerate(regimes) if regime != LIMITED or over[k]]
        points = [points[k] for k in free]
        regimes = [OVERLOAD if over[k] and regimes[k] != UNLIMITED else UNLIMITED for k in free]
    if len(points) < 3:
        return None
    labels = [label(data, p, regime) for p, regime in zip(points, regimes, strict=True)]
    payload = np.array([float(p.payload_bytes or 1) for p in points])
    load = np.array([math.nan if p.load_bps is None else p.load_bps for p in points])
    values = np.array([p.value for p in points])
    variance, spread = _variance(points, quantity(metric, values).shift)
    return Observations(sites(data, carrier, payload, load, labels), values, variance, spread)


def _variance(points: Sequence[Point], shift: float) -> tuple[Floats, Floats]:
    """Estimate the relative variance of each row's mean, and the relative spread of its runs.

    Both are arrays (n,).  The fit uses log(value + ``shift``), so both are relative to value +
    ``shift``.  The spread is a standard deviation.  The spread of a few runs is uncertain, so its
    square is averaged with the square of the pooled spread.  A single run has only the pooled spread.
    To pool the spread, the spread of each row is clipped at three times the median, and then averaged
    over all rows.
    """
    size = [abs(p.value) + shift for p in points]
    stated = [
        p.std / at
        for p, at in zip(points, size, strict=True)
        if p.std is not None and (p.n or 0) > 1 and at
    ]
    most = 3 * np.median(stated) if stated else 0.0
    pooled = float(np.mean(np.minimum(stated, most or np.inf))) if stated else 0.0
    spread = np.full(len(points), pooled)
    variance = np.zeros(len(points))
    for k, (p, at) in enumerate(zip(points, size, strict=True)):
        if not at:
            continue
        if p.std is not None and p.n is not None and p.n > 1:
            spread[k] = math.sqrt(0.5 * (p.std / at) ** 2 + 0.5 * pooled**2)
        if p.n is not None:
            variance[k] = spread[k] ** 2 / p.n
    return variance, spread


UNLIMITED, UNSAID, LIMITED, OVERLOAD = "unlimited", "unsaid", "limited", "overload"
OVERLOADED = 1.005
"""Ratio of a row's limited load to the best goodput at its payload, above which the row is in overload.

See erratum E14 on the background page.
"""
SHORT = 1.1
"""Ratio of a limited load to the goodput reached at this load, above which the row is in overload.

The margin allows for frames that are lost or still queued at the end of a run (assumed).  The same
ratio decides which loads are close to capacity: the best goodput is at most this multiple of the load.
"""
Place = tuple[str, tuple[str, ...], int | None]
"""Key of rows whose goodputs are compared: protocol, options and payload."""


def regimes_of(data: Dataset, points: Sequence[Point]) -> list[str]:
    """Classify the load of each row as ``unlimited``, ``limited``, ``overload`` or ``unsaid`` (not stated).

    A limited load is in overload if it clearly exceeds the goodput measured at that load, or the
    best goodput measured at any load.
    """
    best: dict[Place, float] = {}
    own: dict[tuple[object, ...], float] = {}
    if any(p.load_bps is not None and math.isfinite(p.load_bps) for p in points):
        best = _best(data)
        for p in data.of_metric("goodput_bps"):
            here = tuple(p)[POINT]
            own[here] = max(p.value, own.get(here, 0.0))

    def regime(point: Point) -> str:
        load = math.nan if point.load_bps is None else point.load_bps
        if not math.isfinite(load):
            return regime_of(load)
        most, reached = best.get(_place(point)), own.get(tuple(point)[POINT])
        over = most is not None and load > OVERLOADED * most
        short = reached is not None and load > SHORT * reached
        return OVERLOAD if over or short else LIMITED

    return [regime(point) for point in points]


def rows_in_overload(data: Dataset, points: Sequence[Point]) -> list[bool]:
    """Mark the rows measured in overload, and two neighbouring rows on each curve that has such rows.

    One neighbour is at the next payload below all payloads in overload, the other at the next payload
    above them.  Of the rows at such a payload, the one whose load is closest to capacity is marked:
    the row of the greatest limited load.  If all limited loads are far below capacity, the unlimited
    row is marked instead, if there is one.
    """
    regimes = regimes_of(data, points)
    over = [regime == OVERLOAD for regime in regimes]
    if not any(over):
        return over
    for full in _fullest(data, points, regimes).values():
        sizes = [size for size, k in full.items() if over[k]]
        below = [size for size in full if size < min(sizes, default=0)]
        above = [size for size in full if size > max(sizes, default=math.inf)]
        for size in (*sorted(below)[-1:], *sorted(above)[:1]):
            over[full[size]] = True
    return over


def _fullest(
    data: Dataset, points: Sequence[Point], regimes: Sequence[str]
) -> dict[tuple[object, ...], dict[int, int]]:
    """Choose the row with the load closest to capacity, for each curve and payload.

    It is the row of the greatest limited load, if this load is close to capacity or above it.
    Otherwise it is the row of the unlimited load.  If there is no such row either, it is the row of
    the greatest limited load.  The result maps each curve to a dict from payload [B] to row index.
    """
    best = _best(data)

    def rank(k: int) -> tuple[int, float]:
        load = points[k].load_bps or 0.0
        if regimes[k] == UNLIMITED:
            return 1, load
        near = regimes[k] == OVERLOAD or load * SHORT >= best.get(_place(points[k]), math.inf)
        return (2 if near else 0), load

    found: dict[tuple[object, ...], dict[int, int]] = {}
    for k in sorted((k for k, regime in enumerate(regimes) if regime != UNSAID), key=rank):
        p = points[k]
        if p.payload_bytes is not None:
            counts = (p.cores, p.switches, p.endpoints, p.other_goodput_bps)
            curve = (p.metric, p.protocol, p.options, *counts)
            found.setdefault(curve, {})[p.payload_bytes] = k
    return found


def _place(point: Point) -> Place:
    return point.protocol, point.options, point.payload_bytes


def _best(data: Dataset) -> dict[Place, float]:
    """Best measured goodput [b/s] for each combination of protocol, options and payload."""
    found: dict[Place, float] = {}
    for p in data.of_metric("goodput_bps"):
        found[_place(p)] = max(p.value, found.get(_place(p), 0.0))
    return found


def regime_of(load_bps: float) -> str:
    """Classify an offered load [b/s] as unlimited (inf), not stated (NaN) or limited.

    >>> regime_of(float("inf")), regime_of(1e9)
    ('unlimited', 'limited')
    """
    if math.isnan(load_bps):
        return UNSAID
    return UNLIMITED if math.isinf(load_bps) else LIMITED


# --- runs below capacity ----------------------------------------------------------------------

LEAST_LIMITED_RUNS = 10
"""Least number of limited runs of a protocol from which the spread of their goodput is estimated."""
RunShare = tuple[float, float]
"""Low and high of the ratio goodput / request of single runs."""
WHOLE: RunShare = (1.0, 1.0)


def limited_ratios(data: Dataset) -> dict[str, list[float]]:
    """Collect the ratios goodput / request of all runs with a load below capacity: a sorted list per protocol."""
    points = [p for p in data.of_metric("goodput_bps") if p.payload_bytes is not None]
    found: dict[str, list[float]] = {}
    for point, regime in zip(points, regimes_of(data, points), strict=True):
        if regime == LIMITED and point.load_bps:
            found.setdefault(point.protocol, []).append(point.value / point.load_bps)
    return {protocol: sorted(ratios) for protocol, ratios in found.items()}


def run_shares(data: Dataset) -> dict[str, RunShare]:
    """For each protocol, compute the range (low, high) of goodput / request of a single run below capacity.

    Over a long time, a stream below capacity gets its request.  A run of a few seconds may get less or
    more: some frames are in flight at its start or end, and its sender may stall.  90 % of new runs lie
    between low and high (split conformal prediction; Vovk et al., *Algorithmic Learning in a Random
    World*, 2005).  Protocols with fewer than `LEAST_LIMITED_RUNS` runs are left out.

    >>> import icmodel
    >>> low, high = run_shares(icmodel.load("lab-1g-2026"))["tcp"]
    >>> 0.99 < low < 1 < high < 1.01
    True
    """
    found = {}
    for protocol, ratios in limited_ratios(data).items():
        if (count := len(ratios)) >= LEAST_LIMITED_RUNS:
            beyond = math.floor(round((1 - COVERAGE) / 2 * (count + 1), 9))  # 0.05 is inexact
            low = ratios[max(beyond - 1, 0)]
            high = ratios[min(count + 1 - beyond, count) - 1]
            found[protocol] = min(low, 1.0), max(high, 1.0)
    return found


def unmeasured_loss(data: Dataset, protocols: Sequence[str]) -> Floats:
    """Estimate the loss rate at loads below capacity, for protocols without measured loss at such loads.

    The result (3, protocols) holds value, low and high.  All frames that did not arrive may be lost;
    their fraction is 1 − goodput / request for each run.  The value is the median of this fraction over
    all runs, the high is its maximum, and the low is 0.  All three are 0 for protocols with a measured
    loss rate at such a load, which need no estimate, and for protocols without runs below capacity.

    >>> import icmodel
    >>> unmeasured_loss(icmodel.load("lab-1g-2026"), ["udp"]).tolist()
    [[0.0], [0.0], [0.0]]
    """
    limited = (p for p in data.of_metric("loss_rate") if p.load_bps and math.isfinite(p.load_bps))
    measured = {point.protocol for point in limited}
    found = np.zeros((3, len(protocols)))
    ratios = limited_ratios(data)
    for k, protocol in enumerate(protocols):
        if protocol in ratios and protocol not in measured:
            missing = np.maximum(1 - np.asarray(ratios[protocol]), 0.0)
            found[:, k] = np.median(missing), 0.0, missing.max()
    return found
