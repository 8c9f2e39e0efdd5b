"""A slow, clear twin of the model: one question at a time, plain loops over the dataset's points.

Written from the table of errata and the domain rules, not from the vectorised code, which it checks.
"""

from __future__ import annotations

import copy
import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from icmodel.dataset import Dataset, Point
from icmodel.estimate.statistics import NORMAL, student
from icmodel.scenario import Scenario
from icmodel.tables.wire import wire

STRENGTH = (
    "measured",
    "tabulated",
    "stated",
    "theory",
    "derived",
    "interpolated",
    "assumed",
    "extrapolated",
)
RATIOS = (
    "cpu_send",
    "cpu_recv",
    "loss_rate",
    *(
        f"cpu_{e}_{m}"
        for e in ("send", "recv")
        for m in ("user", "system", "irq", "softirq", "steal")
    ),
)
TOLERANCE = 1.005  # E14
CLOSE = 1e-9  # a request counts as carried up to this relative excess
LOW, VALUE, HIGH = 0, 1, 2
OTHER_END = {LOW: HIGH, VALUE: VALUE, HIGH: LOW}
FLOW_METRICS = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate", "frames_per_s")

Ends = tuple[float, float, float]  # low, value, high
Place = tuple[int | None, int]  # cores, switches


@dataclass(frozen=True)
class Found:
    """A number with its interval and what it rests on."""

    ends: Ends
    bases: frozenset[str]

    @property
    def basis(self) -> str:
        return max(self.bases, key=STRENGTH.index)

    def also(self, *bases: str) -> Found:
        return Found(self.ends, self.bases | set(bases))


@dataclass(frozen=True)
class Flow:
    """What one end of the interval makes of the stream [b/s]."""

    bound: float
    own: float
    limit: float
    share: float
    sent: float
    goodput: float
    table: float
    over_own: bool
    over_total: bool
    overloaded: bool


class Curve:
    """One metric over payload at one load, from the rows of one place."""

    def __init__(self, twin: Twin, points: Iterable[Point]) -> None:
        data, rows = twin.data, list(points)
        chosen: dict[int | None, Point] = {}
        for point in sorted(rows, key=lambda p: p.options):  # a named option beats an empty cell
            chosen[point.payload_bytes] = point
        if len(chosen) > 1:
            chosen.pop(None, None)
        self.anywhere = None in chosen
        if self.anywhere:
            chosen = {None: rows[0]}
        self.payloads = sorted(payload or 1 for payload in chosen)
        ordered = [chosen[None]] if self.anywhere else [chosen[p] for p in self.payloads]
        self.rows = dict(zip(self.payloads, ordered, strict=True))
        self.missed = twin.missed(rows[0].metric)
        self.limits = limits_of(data, ordered)
        self.between_sessions = data.between_sessions
        self.found = {p: Found(self._ends(r), frozenset({r.basis})) for p, r in self.rows.items()}
        if self.anywhere:
            self.found = {1: self.found[1].also("extrapolated")}

    def _ends(self, row: Point) -> Ends:
        below, above = own_half_widths(row)
        fallback = self.missed.of_row(row, list(self.rows.values()))
        level = 1.0 if row.metric in RATIOS else abs(row.value)
        session = 1.644854 * self.between_sessions.get(row.metric, 0.0) * level
        low = row.value - math.hypot(fallback if below is None else below, session)
        high = row.value + math.hypot(fallback if above is None else above, session)
        least, most = self.limits
        return min(max(low, least), row.value), row.value, max(min(high, most), row.value)

    def covers(self, payload: int) -> bool:
        return self.anywhere or self.payloads[0] <= payload <= self.payloads[-1]

    def edge(self, payload: int) -> int:
        """The benchmarked payload nearest to one outside."""
        return min(max(payload, self.payloads[0]), self.payloads[-1])

    def held(self, payload: int) -> Found:
        """As ``at``, the edges held beyond the payloads."""
        found = self.at(payload if self.anywhere else self.edge(payload))
        assert found is not None
        return found

    def with_points(self, found: Mapping[int, Found]) -> Curve:
        """The curve with other numbers at some payloads."""
        other = copy.copy(self)
        other.found = {**self.found, **found}
        return other

    def at(self, payload: int) -> Found | None:
        """Linear between the two benchmarked payloads beside the asked one."""
        if self.anywhere:
            return self.found[1]
        if not self.covers(payload):
            return None
        if payload in self.found:
            return self.found[payload]
        left = max(p for p in self.payloads if p < payload)
        right = min(p for p in self.payloads if p > payload)
        weight = float(Fraction(payload - left, right - left))
        line = between(self.found[left], self.found[right], weight)
        low, value, high = line.ends
        down, up = self._bulge(left, right, LOW), self._bulge(left, right, HIGH)
        part = 4 * weight * (1 - weight)
        return Found((low - part * down, value, high + part * up), line.bases)

    def _bulge(self, left: int, right: int, end: int) -> float:
        """What is added in the middle of a gap: errors in quadrature, but no limit is crossed."""
        error = self.missed.of_gap(list(self.rows.values()), self.rows[left], self.rows[right])
        a, b = (self.found[p].ends for p in (left, right))
        half = (abs(a[end] - a[VALUE]) + abs(b[end] - b[VALUE])) / 2
        limit = self.limits[0 if end == LOW else 1]
        room = (math.sqrt(abs(limit - a[end])) + math.sqrt(abs(limit - b[end]))) ** 2 / 4
        return min(math.hypot(half, error) - half, room)


def limits_of(data: Dataset, rows: list[Point]) -> tuple[float, float]:
    """0 to 1 for ratios, what the source states, and no more busy processors than there are."""
    row = rows[0]
    least, most = 0.0, 1.0 if row.metric in RATIOS else math.inf
    for limit in data.stated_limits:
        if limit.metric == row.metric and limit.protocol in (None, row.protocol):
            least, most = max(least, limit.minimum), min(most, limit.maximum)
    busy = row.metric in ("cpu_send_cores", "cpu_recv_cores") or "process_cores" in row.metric
    if busy and row.cores and all(r.value <= row.cores for r in rows):
        most = min(most, row.cores)
    return least, most


RANGES = {2: (1.414, 1), 3: (1.912, 2), 4: (2.239, 3), 5: (2.481, 4), 6: (2.673, 5),
          7: (2.83, 5), 8: (2.963, 6), 9: (3.078, 7), 10: (3.179, 8)}  # fmt: skip


def own_half_widths(row: Point) -> tuple[float | None, float | None]:
    """What a row says of a new run below and above it; ``None`` where it does not."""
    below = None if row.low is None else row.value - row.low
    above = None if row.high is None else row.high - row.value
    runs, std = row.n or 1, row.std
    degrees = runs - 1
    if std is None and runs > 1 and row.basis in ("measured", "tabulated") and below is not None:
        if above is None:
            return below, above
        deviations, degrees = RANGES[min(runs, 10)]
        std = (below + above) / deviations
    if std is None:
        return below, above
    quantile = student(degrees) * math.sqrt(1 + 1 / runs) if runs > 1 else NORMAL
    return max(quantile * std, below or 0.0), max(quantile * std, above or 0.0)


def off_line(left: Point, row: Point, right: Point) -> float:
    """How far a row lies beside the line that joins two others."""
    part = part_of_the_way(left, row, right)
    return row.value - (left.value + part * (right.value - left.value))


def part_of_the_way(left: Point, row: Point, right: Point) -> float:
    """Where a row lies between two others, from 0 to 1."""
    a, x, b = (float(p.payload_bytes or 1) for p in (left, row, right))
    return (x - a) / (b - a)


class Missed:
    """What leaving out the rows of a metric one by one says, from the page on intervals."""

    def __init__(self, data: Dataset, metric: str) -> None:
        self.relative = metric not in RATIOS
        curves = self._curves([p for p in data.points if p.metric == metric])
        inner = [(curve, k) for curve in curves for k in range(1, len(curve) - 1)]
        shares = [self._share(*curve[k - 1 : k + 2]) for curve, k in inner]
        self.median = float(np.median(shares)) if shares else 0.0
        self.typical = self.median or float(np.mean(shares or [0.0]))
        scores = sorted(self._score(curve, k) for curve, k in inner)
        rank = math.ceil(Fraction(9, 10) * (len(scores) + 1))
        self.enough = rank <= len(scores)
        self.factor = scores[min(rank, len(scores)) - 1] if scores else 0.0

    def _curves(self, rows: list[Point]) -> list[list[Point]]:
        rows = [p for p in rows if p.payload_bytes and p.endpoints in (None, 1)]
        unlimited = [p for p in rows if p.metric == "goodput_bps" and not _finite(p.load_bps)]
        curves: dict[tuple[object, ...], dict[int, Point]] = {}
        for p in unlimited or rows:
            key = (p.protocol, p.options, p.cores, p.switches, p.other_goodput_bps, p.load_bps)
            assert p.payload_bytes
            curves.setdefault(key, {})[p.payload_bytes] = p
        return [[curve[size] for size in sorted(curve)] for curve in curves.values()]

    def level(self, row: Point) -> float:
        return abs(row.value) if self.relative else 1.0

    def _share(self, left: Point, row: Point, right: Point) -> float:
        miss = off_line(left, row, right)
        line = abs(row.value - miss) if self.relative else 1.0
        return abs(miss) / line if line else 0.0

    def bend(self, rows: list[Point], gap: int) -> float:
        """The greater bend of the two rows of a gap, which begins with row ``gap``."""
        inner = [k for k in (gap, gap + 1) if 0 < k < len(rows) - 1]
        if not inner:
            return abs(rows[gap + 1].value - rows[gap].value)
        return max(abs(off_line(*rows[k - 1 : k + 2])) for k in inner)

    def scale(self, rows: list[Point], gap: int) -> float:
        levels = (self.level(rows[gap]) + self.level(rows[gap + 1])) / 2
        return self.typical * levels + self.bend(rows, gap)

    def _score(self, curve: list[Point], k: int) -> float:
        left, row, right = curve[k - 1 : k + 2]
        miss = off_line(left, row, right)
        a, b = (self._half(neighbour, above=miss > 0) for neighbour in (left, right))
        t = part_of_the_way(left, row, right)
        d = max(abs(miss) - (a + t * (b - a)), 0.0) / max(4 * t * (1 - t), 0.1)
        m = (a + b) / 2
        error = math.sqrt((m + d) ** 2 - m**2)
        scale = self.scale(curve[:k] + curve[k + 1 :], k - 1)
        return error / scale if scale else 0.0

    def _half(self, row: Point, *, above: bool) -> float:
        said = own_half_widths(row)[above]
        return NORMAL / 0.6745 * self.median * self.level(row) if said is None else said

    def _assumed(self, row: Point, rows: list[Point]) -> float:
        return 0.2 * max(abs(r.value) for r in ([row] if self.relative else rows))

    def of_row(self, row: Point, rows: list[Point]) -> float:
        if self.enough:
            return NORMAL / 0.6745 * self.median * self.level(row)
        return self._assumed(row, rows)

    def of_gap(self, rows: list[Point], left: Point, right: Point) -> float:
        error = self.factor * self.scale(rows, rows.index(left))
        if self.enough:
            return error
        return max(error, self._assumed(left, rows), self._assumed(right, rows))


def unmeasured_loss(data: Dataset, protocol: str) -> tuple[float, float, float]:
    """What is missing of the limited runs of a protocol that were carried, if no row tells their loss."""
    if any(
        p.metric == "loss_rate" and p.protocol == protocol and _finite(p.load_bps) and p.load_bps
        for p in data.points
    ):
        return (0.0, 0.0, 0.0)
    alike: dict[object, list[Point]] = {}
    for p in data.points:
        if p.metric == "goodput_bps" and p.protocol == protocol and p.payload_bytes:
            alike.setdefault((p.options, p.payload_bytes), []).append(p)
    missing = []
    for rows in alike.values():
        for p in rows:
            counts = (p.load_bps, p.cores, p.switches, p.endpoints, p.other_goodput_bps)
            own = [
                q.value for q in rows
                if (q.load_bps, q.cores, q.switches, q.endpoints, q.other_goodput_bps) == counts
            ]  # fmt: skip
            most = min(TOLERANCE * max(q.value for q in rows), 1.1 * max(own))
            if p.load_bps and p.load_bps <= most:
                missing.append(max(1 - p.value / p.load_bps, 0.0))
    if not missing:
        return (0.0, 0.0, 0.0)
    return (0.0, statistics.median(missing), max(missing))


def between(a: Found, b: Found, weight: float) -> Found:
    low, value, high = (x + weight * (y - x) for x, y in zip(a.ends, b.ends, strict=True))
    return Found((low, value, high), a.bases | b.bases | {"interpolated"})


def beyond(edge: Found) -> Found:
    """The edge held outside the payloads: half-width tripled and 30 % of the value more."""
    low, value, high = edge.ends
    more = 0.3 * value
    return Found(
        (value - 3 * (value - low) - more, value, value + 3 * (high - value) + more),
        edge.bases | {"extrapolated"},
    )


@dataclass(frozen=True)
class Answers:
    """The metrics of one scenario, ``None`` where the dataset gives none."""

    metrics: Mapping[str, Found | None]
    bottleneck: str


class Twin:
    """The two variants of the model on one dataset."""

    def __init__(self, data: Dataset, variant: str, *, extrapolate: bool = False) -> None:
        self.data = data
        self.corrected = variant == "corrected"
        self.variant = variant
        self.extrapolate = extrapolate
        self._questions: dict[tuple[str, Mapping[str, str]], _Rows] = {}
        self._missed: dict[str, Missed] = {}

    def missed(self, metric: str) -> Missed:
        """What the left-out rows of a metric say, worked out once."""
        if metric not in self._missed:
            self._missed[metric] = Missed(self.data, metric)
        return self._missed[metric]

    def predict(self, asked: Scenario) -> Answers:
        key = (asked.protocol, asked.options)
        if key not in self._questions:
            self._questions[key] = _Rows(self, asked.protocol, dict(asked.options))
        return _Question(self, self._questions[key], asked).answers()


class _Rows:
    """The rows of one protocol at some options, as curves by metric, place and load."""

    def __init__(self, twin: Twin, protocol: str, options: Mapping[str, str]) -> None:
        self.twin, self.data = twin, twin.data
        self.corrected = twin.corrected
        points = [p for p in twin.data.points if p.protocol == protocol and self._fits(p, options)]
        payloads = twin.data.variants.get(twin.variant, {}).get("payload_bytes")
        if isinstance(payloads, list):
            points = [p for p in points if p.payload_bytes is None or p.payload_bytes in payloads]
        self.lone = [p for p in points if p.endpoints in (None, 1) and not p.other_goodput_bps]
        self.shared = [
            p for p in points
            if p.metric == "goodput_bps" and (p.endpoints or 1) > 1 and not _finite(p.load_bps)
        ]  # fmt: skip
        self.metrics = sorted({p.metric for p in self.lone})
        goodput = {p.cores for p in points if p.metric == "goodput_bps" and p.cores}
        every = {p.cores for p in points if p.cores}
        self.core_counts = sorted(c for c in goodput or every if c)
        self.surfaces = {metric: self._surfaces(metric) for metric in self.metrics}
        self.unlimited = self._goodput(limited=False)
        self.best = self._goodput(limited=True)
        self.unmeasured_loss = unmeasured_loss(twin.data, protocol)

    def _fits(self, point: Point, options: Mapping[str, str]) -> bool:
        """A default, asked or not, matches itself or an empty cell; what else is asked, exactly."""
        for axis, value in zip(self.data.option_axes, point.options, strict=True):
            default = self.data.option_defaults[axis]
            asked = options.get(axis, default)
            if value not in ({"", default} if asked == default else {asked}):
                return False
        return True

    def _surfaces(self, metric: str) -> dict[Place, dict[float | None, Curve]]:
        groups: dict[Place, dict[float | None, list[Point]]] = {}
        for point in self.lone:
            if point.metric == metric:
                place = (point.cores, point.switches or 0)
                groups.setdefault(place, {}).setdefault(point.load_bps, []).append(point)
        return {
            place: {load: Curve(self.twin, rows) for load, rows in loads.items()}
            for place, loads in groups.items()
        }

    def _goodput(self, *, limited: bool) -> dict[Place, Curve]:
        """At each payload the unlimited goodput, or the best that any load reached."""
        groups: dict[Place, list[Point]] = {}
        for point in self.lone:
            if point.metric == "goodput_bps":
                groups.setdefault((point.cores, point.switches or 0), []).append(point)
        curves = {}
        for place, rows in groups.items():
            unlimited = [p for p in rows if not _finite(p.load_bps)]
            chosen: dict[int | None, Point] = {}
            for point in rows if limited or not unlimited else unlimited:
                known = chosen.get(point.payload_bytes)
                if known is None or point.value > known.value:
                    chosen[point.payload_bytes] = point
            curves[place] = Curve(self.twin, chosen.values())
        return curves


def _finite(load: float | None) -> bool:
    return load is not None and math.isfinite(load)


class _Question:
    """One scenario on the rows that fit it."""

    def __init__(self, twin: Twin, rows: _Rows, asked: Scenario) -> None:
        self.twin, self.rows, self.asked = twin, rows, asked
        self.data, self.corrected = twin.data, twin.corrected
        self.payload = asked.payload_bytes
        self.request = asked.requested_goodput_bps
        self.link = twin.data.link(dict(asked.options))
        self.lossy = asked.protocol != "tcp"
        counts = rows.core_counts
        self.cores = asked.cores or (max(counts) if counts else None)
        self.nearest = (
            min(counts, key=lambda c: (abs(c - (self.cores or 0)), c)) if counts else None
        )
        path = wire(self.data, asked.protocol, dict(asked.options))
        size = np.array([float(self.payload)])
        self.lone_frame_s = float(path.lone_frame_s(size)[0])
        self.bound = float(path.goodput_bound_bps(size, path.serialisation_s(size))[0])

    # --- finding rows -------------------------------------------------------------------------

    def place(self, places: Iterable[Place], *, any_cores: bool) -> Place | None:
        """Rows at the asked cores and the most switches not above the asked; else the most cores."""
        own = [p for p in places if p[1] <= self.asked.switches]
        exact = [p for p in own if p[0] is None or p[0] == self.nearest]
        if not exact and any_cores and own:
            most = max(p[0] or 0 for p in own)
            exact = [p for p in own if p[0] == most]
        return max(exact, key=lambda p: p[1]) if exact else None

    def curve(self, curves: Mapping[Place, Curve]) -> Found | None:
        """A metric that depends on the payload alone, at the asked cores."""
        place = self.place(curves, any_cores=False)
        if place is None:
            return None
        curve = curves[place]
        found = curve.at(self.payload)
        if found is None and self.twin.extrapolate:
            metric = next(iter(curve.rows.values())).metric
            found = self.possible(metric, beyond(curve.found[curve.edge(self.payload)]))
        return found

    def loss(self, *, limited: bool) -> Found | None:
        """Benchmarked loss when unlimited, or at the asked load where there are limited runs."""
        every = self.rows.surfaces.get("loss_rate", {})
        surfaces = {
            place: {load: c for load, c in loads.items() if _finite(load) == limited}
            for place, loads in every.items()
            if any(_finite(load) == limited for load in loads)
        }
        place = self.place(surfaces, any_cores=False)
        if place is None:
            return None
        if not limited:
            return self.curve({place: surfaces[place].get(math.inf) or surfaces[place][None]})
        found = self.at_load(surfaces[place], below="nothing")  # E16: below, 0 is assumed
        return None if found is None else self.possible("loss_rate", found)

    def known_loss(self) -> bool:
        places = self.rows.surfaces.get("loss_rate", {})
        return any(
            self.place(
                [p for p, loads in places.items() if any(_finite(k) == f for k in loads)],
                any_cores=False,
            )
            is not None
            for f in (True, False)
        )

    # --- between load curves (E12, E14, E15) ----------------------------------------------------

    def at_load(
        self,
        curves: Mapping[float | None, Curve],
        *,
        carried: Curve | None = None,
        below: str = "held",
        part: float = 1.0,
    ) -> Found | None:
        """A metric at the asked payload and request, which is carried.

        ``below`` says what stands below the lowest load: the lowest curve "held" with ends that
        widen towards a load of nothing, in "proportion" to the load, or "nothing"; ``part`` is the
        request as a share of the stream's own limit.
        """
        where, finite = self.payload, mended(curves, carried)

        def at(payload: int) -> Found | None:
            usable = _usable(payload, curves, carried)
            if not usable:
                return _without_loads(payload, curves)
            return self._at_payload(payload, usable, finite, below)

        found = at(where)
        if found is None and self.twin.extrapolate:
            inner = {p: at(p) for p in self._candidates(curves, carried)}
            edges = [p for p, answer in inner.items() if answer is not None]
            if edges and not min(edges) <= self.payload <= max(edges):
                where = min(edges) if self.payload < min(edges) else max(edges)
                answer = inner[where]
                assert answer is not None
                found = beyond(answer)
        if found is None or below != "proportion":
            return found
        usable = _usable(where, curves, carried)
        if not usable and not (None in curves and curves[None].covers(where)):
            return None if math.isnan(part) else proportional(found, part)
        flat_out = self.flat_out(curves)
        if usable and self.request > usable[-1] and flat_out:  # anything up to the unlimited curve
            low, value, high = found.ends
            found = Found((low, value, max(high, flat_out.ends[HIGH])), found.bases)
        return found

    def _at_payload(
        self, payload: int, usable: list[float], finite: Mapping[float, Curve], below: str
    ) -> Found | None:
        """Between the curves of the usable loads beside the request, or beyond them."""
        lower = [load for load in usable if load <= self.request]
        upper = [load for load in usable if load > self.request]
        if lower and lower[-1] == self.request:
            return finite[lower[-1]].at(payload)
        if lower and upper:
            weight = (self.request - lower[-1]) / (upper[0] - lower[-1])
            return between(finite[lower[-1]].held(payload), finite[upper[0]].held(payload), weight)
        if lower:
            return finite[lower[-1]].held(payload).also("extrapolated")
        if below == "nothing":
            return None
        found = finite[upper[0]].held(payload).also("extrapolated")
        share = self.request / upper[0]
        if below == "proportion":
            return proportional(found, share)
        return between(beyond(found), found, share)

    def _candidates(self, curves: Mapping[float | None, Curve], carried: Curve | None) -> set[int]:
        """Payloads at which the set of usable curves can begin or end."""
        found: set[int] = set()
        for curve in curves.values():
            found.update(curve.payloads)
        if carried is None:
            return found
        for left, right in itertools.pairwise(carried.payloads):
            a, b = carried.rows[left].value, carried.rows[right].value
            for load in curves:
                if load is not None and math.isfinite(load) and a != b:
                    where = left + (load / TOLERANCE - a) / (b - a) * (right - left)
                    if left <= where <= right:
                        found |= {math.floor(where), math.floor(where) + 1}
        return found

    # --- the stream (E1-E3, E8, E9, E13, E16) ---------------------------------------------------

    def flow(self, end: int) -> Flow | None:
        return self.corrected_flow(end) if self.corrected else self.appendix_h_flow(end)

    def corrected_flow(self, end: int) -> Flow | None:
        best, unlimited = self.curve(self.rows.best), self.curve(self.rows.unlimited)
        if best is None or unlimited is None:
            return None
        asked, request = self.asked, self.request
        capacity = min(self.farther(best.ends[end], end), self.bound)
        flat_out = min(self.farther(unlimited.ends[end], end), self.bound)
        loss = self.loss(limited=False) if self.lossy else None
        lost = OTHER_END[end]
        table = min(self.farther(loss.ends[lost], lost), 1.0) if loss else 0.0
        over_own = request > capacity * (1 + CLOSE) or math.isinf(request)
        over_total = request + asked.other_goodput_bps > capacity * (1 + CLOSE)
        limit = flat_out if over_total else capacity
        fair = limit / asked.endpoints
        if over_total and asked.other_goodput_bps > 0 and table > 0:
            # Assumed: offered twice what a lone sender does, the receiver takes the loss once more less,
            # and each sender has its part of what is offered.
            able = flat_out / max(1 - table, CLOSE)
            offered = min(request, able)
            every = offered + min(asked.other_goodput_bps, (asked.endpoints - 1) * able)
            lost_share = min(table, 1 - CLOSE)
            more = min(max(every / able - 1, 0.0), 1.0) if able else 0.0
            limit /= 1 + lost_share / (1 - lost_share) * more
            fair = limit * (offered / max(every, CLOSE))
        share = self.share(limit, fair, end)
        kept = self.limited_loss(end)
        if not self.lossy:
            goodput = sent = min(request, share)
        elif over_own:
            able = flat_out / max(1 - table, CLOSE)
            sent = min(request, able if end == VALUE else min(able, self.bound))
            goodput = min(sent, share)
        else:
            sent = request
            goodput = min(request * (1 - kept), share)
        own = flat_out if over_own else capacity
        overloaded = over_own or share * (1 + CLOSE) < request
        goodput = min(goodput, self.bound)
        if not self.lossy:
            sent = goodput
        return Flow(
            self.bound, own, limit, share, sent, goodput, table, over_own, over_total, overloaded
        )

    def farther(self, number: float, end: int, rows_cores: int | None = None) -> float:
        """An end of an interval where the asked cores were not measured: half as far in log."""
        rows_cores = rows_cores or self.nearest
        if end == VALUE or not self.corrected or not self.beyond_cores() or not rows_cores:
            return number
        wider = math.exp(0.5 * abs(math.log((self.cores or rows_cores) / rows_cores)))
        return number / wider if end == LOW else number * wider

    def share(self, limit: float, fair: float, end: int) -> float:
        if self.asked.endpoints == 1:
            return limit
        measured = self.measured_share()
        if measured is not None:
            fair = min(measured.ends[end], limit)
        return max(limit - self.asked.other_goodput_bps, fair)

    def measured_share(self) -> Found | None:
        rows = [p for p in self.rows.shared if p.endpoints == self.asked.endpoints]
        groups: dict[Place, list[Point]] = {}
        for point in rows:
            groups.setdefault((point.cores, point.switches or 0), []).append(point)
        return self.curve({place: Curve(self.twin, points) for place, points in groups.items()})

    def limited_loss(self, end: int) -> float:
        found = self.loss(limited=True) if self.lossy else None
        lost = OTHER_END[end]
        if found is None:
            return self.rows.unmeasured_loss[lost] if self.lossy else 0.0
        return min(self.farther(found.ends[lost], lost), 1.0)

    def appendix_h_flow(self, end: int) -> Flow | None:
        found = self.curve(self.rows.unlimited)
        if found is None:
            return None
        benchmarked = found.ends[end]
        others, n, request = self.asked.other_goodput_bps, self.asked.endpoints, self.request
        limited = benchmarked if request > benchmarked else request
        goodput = limited
        share = max(benchmarked - others, benchmarked / n)
        if n > 1 and not limited + others < benchmarked:
            goodput = share
        loss = self.loss(limited=False) if self.lossy else None
        table = loss.ends[OTHER_END[end]] if loss else 0.0
        over = request > benchmarked * (1 + CLOSE)
        overloaded = over or request > goodput * (1 + CLOSE)
        return Flow(
            self.bound,
            benchmarked,
            benchmarked,
            share,
            limited,
            goodput,
            table,
            over,
            over,
            overloaded,
        )

    def flow_loss(self, flow: Flow, end: int) -> float:
        """Loss that goes with one end of the flow."""
        if not self.corrected:
            achieved = 0.0 if math.isinf(self.request) else flow.goodput / self.request
            return min(max(flow.table * self.asked.endpoints, 1 - achieved, 0.0), 1.0)
        if not self.lossy:
            return 0.0
        kept = self.limited_loss(end)
        if not flow.over_own and flow.share >= self.request * (1 - kept):
            return kept
        return min(max(0.0, 1 - flow.goodput / flow.sent), 1.0) if flow.sent else flow.table

    # --- all metrics --------------------------------------------------------------------------

    def answers(self) -> Answers:
        metrics: dict[str, Found | None] = {}
        flows = [self.flow(end) for end in (LOW, VALUE, HIGH)]
        low, value, high = flows
        metrics.update(dict.fromkeys(FLOW_METRICS))
        if low and value and high:
            metrics.update(self.flow_metrics((low, value, high)))
        for metric in self.rows.metrics:
            if metric not in (*FLOW_METRICS, "cpu_send", "cpu_recv"):
                metrics[metric] = self.curve_metric(metric, flows)
        for metric in ("cpu_send", "cpu_recv"):
            found = self.demand(metric, flows)
            metrics[metric] = self.capped(found)
            if f"{metric}_cores" not in self.rows.metrics and self.rows.core_counts:
                metrics[f"{metric}_cores"] = _times(metrics[metric], self.cores or 0)
        if "frames_per_s" in self.rows.metrics and metrics["frames_per_s"] is None:
            metrics["frames_per_s"] = self.measured_frames(flows)
        if self.corrected:
            put_in_order(metrics)
        if value and self.interface_overloaded(value):
            metrics.update({k: None for k in metrics if k.startswith(("latency_", "rtt_"))})
        return Answers(
            {k: self.finished(v) for k, v in metrics.items()}, self.bottleneck(value, flows)
        )

    def interface_overloaded(self, flow: Flow) -> bool:
        """All senders together send more than the interface carries, whatever the others' payload."""
        others, rate = self.asked.other_goodput_bps, self.link.line_rate_bps
        if self.asked.endpoints == 1 or not others:
            return False
        if flow.share * (1 + CLOSE) < min(self.request, flow.own):
            return True
        if rate is None:
            return False
        own = min(self.request, max(flow.own, flow.sent))
        return own / self.bound + others / rate > 1 + CLOSE

    def flow_metrics(self, flows: tuple[Flow, Flow, Flow]) -> dict[str, Found | None]:
        reached = self.reached(flows[VALUE])
        lost = self.lost(flows[VALUE])
        losses = [
            self.flow_loss(flows[OTHER_END[end]], OTHER_END[end]) for end in (LOW, VALUE, HIGH)
        ]
        offered = self.offered(flows[VALUE])
        sent = [self.sent(flows, end) for end in (LOW, VALUE, HIGH)]
        short = [
            0.0 if math.isinf(self.request) else max(self.request - sent[OTHER_END[end]], 0.0)
            for end in (LOW, VALUE, HIGH)
        ]
        goodput = [flow.goodput for flow in flows]
        return {
            "goodput_bps": Found(_ends(goodput), reached),
            "frames_per_s": Found(_ends(g / self.payload / 8 for g in goodput), reached),
            "loss_rate": Found(_ends(losses), lost) if lost is not None else None,
            "sent_bps": Found(_ends(sent), offered) if lost is not None else None,
            "shortfall_bps": Found(_ends(short), offered) if lost is not None else None,
        }

    def sent(self, flows: tuple[Flow, Flow, Flow], end: int) -> float:
        """Sent at one end: own / (1 - loss), of which either may be off without the other."""
        known = flows[VALUE]
        if end == VALUE or not (self.corrected and self.lossy and known.over_own):
            return flows[end].sent
        arriving = max(1 - known.table, CLOSE)
        factors = [
            flows[end].own / known.own,
            arriving / max(1 - flows[OTHER_END[end]].table, CLOSE),
        ]
        if 0 in factors:
            return flows[end].goodput
        off = 1 + math.hypot(*(max(factor, 1 / factor) - 1 for factor in factors))
        able = known.own / arriving * (off if end == HIGH else 1 / off)
        return max(min(able, self.request, self.bound), flows[end].goodput)

    def reached(self, flow: Flow) -> frozenset[str]:
        """What the goodput rests on."""
        found = self.curve(self.rows.unlimited if flow.over_own else self.rows.best)
        if not self.corrected:
            found = self.curve(self.rows.unlimited)
        assert found is not None
        bases = set(found.bases)
        if self.corrected and found.ends[VALUE] > self.bound:
            bases.add("theory")
        if self.asked.endpoints > 1:
            bases.add("derived")
            measured = self.measured_share() if self.corrected else None
            if measured is not None:
                bases |= measured.bases
        if (
            self.corrected
            and flow.over_total
            and self.asked.other_goodput_bps > 0
            and flow.table > 0
        ):
            loss = self.loss(limited=False)
            assert loss is not None
            bases |= loss.bases | {"assumed"}
        return frozenset(bases | self.beyond_cores())

    def offered(self, flow: Flow) -> frozenset[str]:
        """What the sent goodput rests on: in overload the loss says what the sender can do."""
        table = (
            self.loss(limited=False) if self.lossy and self.corrected and flow.over_own else None
        )
        return self.reached(flow) | (table.bases if table else frozenset())

    def lost(self, flow: Flow) -> frozenset[str] | None:
        """What the loss rests on; ``None`` where the dataset does not say it."""
        if not self.lossy and self.corrected:
            return frozenset({"stated"} | self.beyond_cores())
        if not self.corrected and self.asked.protocol == "ethernet":
            return None
        if not self.lossy:
            return self.reached(flow) | {"stated"}
        table = self.loss(limited=False)
        if not self.known_loss():
            return None
        if not self.corrected:
            return None if table is None else self.reached(flow) | table.bases
        if flow.over_own:
            return None if table is None else self.reached(flow) | table.bases
        limited = self.loss(limited=True)
        return self.reached(flow) | (limited.bases if limited else {"assumed"})

    def beyond_cores(self) -> set[str]:
        return {"extrapolated"} if self.nearest and self.cores != self.nearest else set()

    def curve_metric(self, metric: str, flows: list[Flow | None]) -> Found | None:
        """Latencies and whatever else is a curve: at the load, or unlimited in overload."""
        place, ends = self.between_loads(metric, flows, by_cpu=metric.startswith("cpu_"))
        if place is None or ends is None:
            return None
        found = self.possible(metric, ends)
        bases = set(found.bases) | self.beyond_cores()
        found = self.possible(metric, self.beside_cores(metric, found, place))
        low, value, high = found.ends
        if self.corrected and metric.startswith("latency_") and not metric.endswith("_std_s"):
            least = self.least_latency_s()
            if value < least:
                bases.add("theory")
            low, value, high = (max(end, least) for end in (low, value, high))
        if self.corrected and metric.endswith("_process_cores") and self.cores:
            low, value, high = (min(end, float(self.cores)) for end in (low, value, high))
        times = _crossings(metric)
        switches = max(self.asked.switches - place[1], 0) * (self.link.switch_latency_s or 0.0)
        extra = self.extra_distance_m() if self.corrected else 0.0
        path = switches + extra * (self.link.propagation_s_per_m or 0.0)
        low, value, high = (end + times * path for end in (low, value, high))
        if times and self.asked.switches > place[1]:
            bases.add("stated")
        if times and extra:
            bases.add("theory")
        return Found((low, value, high), frozenset(bases))

    def least_latency_s(self) -> float:
        """Serialisation and propagation over the cable the benchmark had."""
        cable = self.link.cable_length_m or 0.0
        return self.lone_frame_s + cable * (self.link.propagation_s_per_m or 0.0)

    def extra_distance_m(self) -> float:
        cable, asked = self.link.cable_length_m, self.asked.distance_m
        return 0.0 if cable is None or asked is None else asked - cable

    def possible(self, metric: str, found: Found) -> Found:
        """No end of an interval crosses 0, for ratios 1, or a limit that the source states."""
        low, value, high = found.ends
        low = max(low, 0.0)
        if metric in RATIOS:
            high = min(high, 1.0)
        for limit in self.data.stated_limits:
            if limit.metric == metric and limit.protocol in (None, self.asked.protocol):
                low, high = max(low, limit.minimum), min(high, limit.maximum)
        return Found((min(low, value), value, max(high, value)), found.bases)

    def between_loads(
        self, metric: str, flows: list[Flow | None], *, by_cpu: bool
    ) -> tuple[Place | None, Found | None]:
        """Each end at its own load slot: a high latency goes with the low goodput."""
        surfaces = self.rows.surfaces.get(metric, {})
        places = list(surfaces)
        if self.corrected and metric == "cpu_recv" and self.asked.protocol == "udp":  # E7
            direct = [p for p in places if p[1] == 0]
            places = [p for p in places if p[1] == 0 or (p[0], 0) not in direct]
        place = self.place(places, any_cores=metric.startswith(("latency_", "rtt_", "cpu_")))
        if place is None:
            return None, None
        curves = surfaces[place]
        grows = metric.startswith("packets_")
        here = flows[VALUE]
        own = here.own if here else math.nan
        values = []
        bases: frozenset[str] = frozenset()
        for end in (LOW, VALUE, HIGH):
            end_flow = flows[OTHER_END[end]]
            found = self.one_end(curves, end_flow, own, by_cpu=by_cpu, grows=grows)
            known = self.one_end(curves, here, own, by_cpu=by_cpu, grows=grows)
            if known is None:
                return place, None
            # Open whether the request is achieved: the interval reaches over both.
            both = [f.ends[end] for f in (found, known) if f is not None]
            values.append({LOW: min, VALUE: max, HIGH: max}[end](both))
            if end == VALUE:
                bases = known.bases
        low, value, high = values
        return place, Found((min(low, value), value, max(high, value)), bases)

    def one_end(
        self,
        curves: Mapping[float | None, Curve],
        flow: Flow | None,
        own: float,
        *,
        by_cpu: bool,
        grows: bool,
    ) -> Found | None:
        over = math.isinf(self.request)
        if flow is not None:
            over = flow.over_own if by_cpu and self.corrected else flow.overloaded  # E18
        if over:
            return self.flat_out(curves)
        carried = None
        if self.corrected and self.rows.best:
            direct = min(p[1] for p in self.rows.best)
            place = max((p for p in self.rows.best if p[1] == direct), key=lambda p: p[0] or 0)
            carried = self.rows.best[place]
        if not by_cpu:
            below = "proportion" if grows else "held"
            return self.at_load(curves, carried=carried, below=below)
        part = min(self.request / own, 1.0)
        return self.at_load(curves, carried=carried, below="proportion", part=part)

    def flat_out(self, curves: Mapping[float | None, Curve]) -> Found | None:
        """The unlimited curve; a curve whose load is not said only where there is no other."""
        curve = curves.get(math.inf)
        if curve is None and not any(map(_finite, curves)):
            curve = curves[None]
        if curve is None:
            return None
        found = curve.at(self.payload)
        if found is None and self.twin.extrapolate:
            found = beyond(curve.held(self.payload))
        return found

    def demand(self, metric: str, flows: list[Flow | None]) -> Found | None:
        """Utilisation before it is capped, scaled to the asked cores (E6)."""
        place, found = self.between_loads(metric, flows, by_cpu=True)
        if place is None or found is None:
            return None
        found = self.possible(metric, found)
        bases = set(found.bases) | self.beyond_cores()
        scale = 1.0
        if place[0] and self.cores:
            scale = place[0] / self.cores
            if place[0] != self.cores:
                bases.add("derived")
        low, value, high = (end * scale for end in found.ends)
        return self.beside_cores(metric, Found((low, value, high), frozenset(bases)), place)

    def beside_cores(self, metric: str, found: Found, place: Place) -> Found:
        """Ends farther out beside the measured cores, up to the limits that the source states."""
        low, value, high = found.ends
        least, most = self.farther(low, LOW, place[0]), self.farther(high, HIGH, place[0])
        for limit in self.data.stated_limits:
            if limit.metric == metric and limit.protocol in (None, self.asked.protocol):
                least, most = max(least, limit.minimum), min(most, limit.maximum)
        return Found((min(low, least), value, max(high, most)), found.bases)

    def capped(self, found: Found | None) -> Found | None:
        if found is None or not self.corrected:
            return found
        low, value, high = (min(end, 1.0) for end in found.ends)
        return Found((low, value, high), found.bases)

    def measured_frames(self, flows: list[Flow | None]) -> Found | None:
        found = self.curve_metric("frames_per_s", flows)
        if found is None:
            return None
        most = self.request / self.payload / 8
        low, value, high = (min(end, most) for end in found.ends)
        return Found((low, value, high), found.bases)

    def finished(self, found: Found | None) -> Found | None:
        """An interval holds its value and does not go below 0."""
        if found is None:
            return None
        low, value, high = found.ends
        return Found((max(min(low, value), 0.0), value, max(high, value)), found.bases)

    def bottleneck(self, flow: Flow | None, flows: list[Flow | None]) -> str:
        if flow is None:
            return "unknown"
        demand = self.demand("cpu_send", flows)
        busy = demand.ends[VALUE] if demand else math.nan
        if not flow.overloaded:
            return "cpu" if busy > 1 else "request"
        if math.isinf(self.bound) and math.isnan(busy):
            return "unknown"
        if self.asked.endpoints > 1 and flow.share * (1 + CLOSE) < flow.own:
            return "receiver" if self.lossy and flow.over_total else "share"
        if flow.over_own and self.lossy and flow.table > 1 - 0.985:
            return "receiver"
        if flow.own >= 0.985 * self.bound:
            return "wire"
        return "cpu" if busy >= 0.95 else "packet-rate"


def mended(curves: Mapping[float | None, Curve], carried: Curve | None) -> dict[float, Curve]:
    """The limited curves; where a row was overloaded, the next lower curve's number stands (E14)."""
    found: dict[float, Curve] = {}
    lower: Curve | None = None
    for load in sorted(load for load in curves if load is not None and math.isfinite(load)):
        curve = curves[load]
        if lower is not None and carried is not None:
            over = [p for p in curve.payloads if load > TOLERANCE * carried.held(p).ends[VALUE]]
            curve = curve.with_points({p: lower.held(p).also("extrapolated") for p in over})
        found[load] = lower = curve
    return found


def _usable(
    payload: int, curves: Mapping[float | None, Curve], carried: Curve | None
) -> list[float]:
    """Loads whose curve knows the payload and that the benchmarked goodput carries there (E14)."""
    most = math.inf if carried is None else TOLERANCE * carried.held(payload).ends[VALUE]
    finite = {load: c for load, c in curves.items() if load is not None and math.isfinite(load)}
    return sorted(load for load, c in finite.items() if c.covers(payload) and load <= most)


def _without_loads(payload: int, curves: Mapping[float | None, Curve]) -> Found | None:
    """Where no limited load is known: a curve whose load is not said, else the unlimited one."""
    if None in curves and curves[None].covers(payload):
        return curves[None].at(payload)
    found = curves[math.inf].at(payload) if math.inf in curves else None
    return None if found is None else found.also("extrapolated")


def proportional(found: Found, part: float) -> Found:
    """In proportion to the load, the curve itself as upper end (E15)."""
    low, value, high = found.ends
    return Found((low * part, value * part, high), found.bases)


def put_in_order(metrics: dict[str, Found | None]) -> None:
    """A minimum, quantiles and a maximum ascend; the median and the mean stay as they are."""
    for time in {name.removesuffix("_mean_s") for name in metrics if name.endswith("_mean_s")} | {
        name.removesuffix("_max_s") for name in metrics if name.endswith("_max_s")
    }:
        inner: list[str] = []
        for which in ("p50", "p90", "p99", "p999", "mean", "max", "min"):
            name = f"{time}_{which}_s"
            if metrics.get(name) is None:
                continue
            for other in inner if which != "mean" else ():
                metrics[name] = _pushed(
                    metrics[name], metrics[other], min if which == "min" else max
                )
            inner.append(name)


def _pushed(
    found: Found | None, other: Found | None, which: Callable[[float, float], float]
) -> Found | None:
    if found is None or other is None:
        return found
    return Found(_ends(map(which, found.ends, other.ends)), found.bases)


def _ends(values: Iterable[float]) -> Ends:
    low, value, high = values
    return low, value, high


def _times(found: Found | None, factor: float) -> Found | None:
    if found is None:
        return None
    low, value, high = (end * factor for end in found.ends)
    return Found((low, value, high), found.bases)


def _crossings(metric: str) -> int:
    """How often a metric's path goes through each switch and cable."""
    if metric.endswith("_std_s"):
        return 0
    if metric.startswith(("rtt_half_", "latency_")):
        return 1
    return 2 if metric.startswith("rtt_") else 0
