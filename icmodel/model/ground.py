"""What a model stands on: a dataset's rows at some options, compiled into look-up tables.

A ``Lookup`` answers one metric for any protocol, core count and switch count: rows at the asked
count stand in place of a rule; where there are none the nearest measured count serves and the
rules of the metric (IC2012 §7.1) do the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import Dataset, Interconnect, Point
from icmodel.estimate import BASES
from icmodel.interpolation import (
    EXTRAPOLATED,
    HIGH,
    LOW,
    VALUE,
    Curve,
    Stack,
    Surface,
    compile_surface,
    leave_one_out_half_width,
    left_knots,
    payload_knots,
    spread_half_width,
    stack,
)
from icmodel.model.physics import Wire, wire

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LOAD_TOLERANCE = 1.005
"""A load curve counts as carried where its load is at most this times the goodput there (E14)."""
BY_FLOW = ("goodput_bps", "sent_bps", "shortfall_bps", "loss_rate")
"""Metrics that follow from how the frames fare, not from a curve of their own."""
ANY_CORES = ("latency_", "rtt_", "cpu_")
"""Metrics that rows at another core count answer: latency as it is, CPU scaled (E6, E11)."""
RATIOS = ("cpu_send", "cpu_recv", "loss_rate")
Count = int | None
Place = tuple[str, Count, int]  # protocol, cores, switches


@dataclass(frozen=True, slots=True)
class Lookup:
    """One metric's surfaces, and which of them answers which protocol, cores and switches.

    ``group``, ``cores`` and ``switches`` have the shape (protocols · core counts · switch counts):
    the surface (0 answers nothing), and the counts it was measured at (0: not said).
    ``unlimited_only`` (groups · cells) marks where only the unlimited load answers; ``scale`` is measured over
    counted cores, 1 where either is not said.
    """

    stack: Stack
    group: Ints
    cores: Floats
    switches: Floats
    first: Floats
    last: Floats
    unlimited_only: Bools
    scale: Floats

    @property
    def empty(self) -> bool:
        """Whether the metric has no rows at all."""
        return len(self.first) == 1

    def zero_filled(self) -> Lookup:
        """The same table with 0 where nothing is known."""
        filled = replace(self.stack, coefficients=np.nan_to_num(self.stack.coefficients))
        return replace(self, stack=filled)


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything a variant of the model looks up, for one dataset and one set of options."""

    data: Dataset
    link: Interconnect
    protocols: tuple[str, ...]
    wires: tuple[Wire, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    left: Floats
    loads: Floats
    floors: Floats
    capacity: Lookup
    unlimited: Lookup
    fair: Mapping[int, Lookup]
    loss_unlimited: Lookup
    loss_limited: Lookup
    loss_table: Lookup
    metrics: Mapping[str, Lookup]
    families: Mapping[str, int]
    points: tuple[Point, ...]
    extended: bool

    @property
    def same_places(self) -> bool:
        """Whether capacity and unlimited goodput lie at the same places of their tables."""
        return bool(np.array_equal(self.capacity.group, self.unlimited.group))


def lay_ground(
    data: Dataset,
    options: Mapping[str, str],
    variant: str,
    *,
    protocols: Sequence[str] | None = None,
    extend: bool = False,
) -> Ground:
    """Compile a dataset's rows at some options for one variant of the model.

    Parameters
    ----------
    protocols : sequence of str, optional
        Only these (a single prediction needs one); all of the dataset by default.
    extend : bool
        Answer beyond the benchmarked payloads, marked ``extrapolated``.
    """
    chosen = tuple(protocols or data.protocols)
    numbered = [
        (index, point)
        for protocol in chosen
        for index, point in _numbered(data, protocol, options)
        if _in_variant(data, variant, point)
    ]
    alone = [(i, p) for i, p in numbered if p.endpoints in (None, 1) and not p.other_goodput_bps]
    shelf = _Shelf(data, chosen, tuple(alone))
    unlimited = shelf.goodput(limited=False)
    capacity = unlimited if variant == "appendix-h" else shelf.goodput(limited=True)
    loss = shelf.curves("loss_rate")
    others = {
        metric: shelf.curves(metric)
        for metric in sorted({p.metric for _, p in alone} - set(BY_FLOW))
    }
    fair = _fair_shares(data, chosen, numbered)
    every = [*unlimited.values(), *capacity.values(), *loss.values()]
    every += [c for curves in (*others.values(), *fair.values()) for c in curves.values()]
    flat = [curve for curves in every for curve in curves]
    loads = np.array(sorted({c.load_bps for c in flat if np.isfinite(c.load_bps)}))
    crossings = () if variant == "appendix-h" else _crossings(capacity.values(), loads)
    knots = payload_knots(flat, crossings)
    press = _Press(data, chosen, shelf.cores, shelf.switch_counts, knots, loads, extend)
    carried = None if variant == "appendix-h" else capacity
    metrics = {
        metric: press.lookup(
            metric,
            _without_switched(curves, "udp") if _e7(variant, metric) else curves,
            nearest_cores=metric.startswith(ANY_CORES),
            proportional=metric.startswith("cpu_"),
            carried=carried,
        )
        for metric, curves in others.items()
    }
    return Ground(
        data=data,
        link=data.link(options),
        protocols=chosen,
        wires=tuple(wire(data, protocol, options) for protocol in chosen),
        cores=shelf.cores,
        switch_counts=shelf.switch_counts,
        knots=knots,
        left=left_knots(knots),
        loads=loads,
        floors=np.concatenate([[0.0], loads, [0.0]]),
        capacity=(best := press.lookup("goodput_bps", capacity)),
        unlimited=best if capacity is unlimited else press.lookup("goodput_bps", unlimited),
        fair={count: press.lookup("goodput_bps", curves) for count, curves in fair.items()},
        loss_unlimited=(lost := press.lookup("loss_rate", _loads(loss, finite=False))),
        loss_limited=press.lookup("loss_rate", _loads(loss, finite=True)),
        loss_table=lost.zero_filled(),
        metrics=metrics,
        families=_families(metrics),
        points=data.points,
        extended=extend,
    )


def _families(metrics: Mapping[str, Lookup]) -> dict[str, int]:
    """Metrics looked up at the same places get the same number."""
    keys = {name: (m.group.tobytes(), m.switches.tobytes()) for name, m in metrics.items()}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    return {name: numbers[key] for name, key in keys.items()}


def _numbered(data: Dataset, protocol: str, options: Mapping[str, str]) -> list[tuple[int, Point]]:
    """The selected points with their index in the dataset; a named option beats an empty cell."""
    rank = {id(point): index for index, point in enumerate(data.points)}
    return [(rank[id(point)], point) for point in data.select(protocol, options)]


def _in_variant(data: Dataset, variant: str, point: Point) -> bool:
    """Whether a variant reads a row: ``appendix-h`` keeps to the original's payloads (§7.1.1)."""
    payloads = data.variants.get(variant, {}).get("payload_bytes")
    if not isinstance(payloads, list) or point.payload_bytes is None:
        return True
    return point.payload_bytes in payloads


def _e7(variant: str, metric: str) -> bool:
    """E7: a switch changes UDP's sending CPU only (IC2012 §7.1.3); the receiver's is equal."""
    return variant != "appendix-h" and metric == "cpu_recv"


# --- curves -----------------------------------------------------------------------------------

Curves = dict[Place, list[Curve]]


@dataclass(frozen=True, slots=True)
class _Shelf:
    """The rows of a lone stream, put into curves by place."""

    data: Dataset
    protocols: tuple[str, ...]
    numbered: tuple[tuple[int, Point], ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """Core counts that any row has."""
        return tuple(sorted({p.cores for _, p in self.numbered if p.cores is not None}))

    @property
    def switch_counts(self) -> int:
        """One more than the most switches any row has."""
        return 1 + max((p.switches or 0 for _, p in self.numbered), default=0)

    def curves(self, metric: str) -> Curves:
        """All curves of a metric."""
        return _by_place(self.data, [(i, p) for i, p in self.numbered if p.metric == metric])

    def goodput(self, *, limited: bool) -> Curves:
        """One goodput curve a place: unlimited, or the best any load reached (``limited``)."""
        rows = [(i, p) for i, p in self.numbered if p.metric == "goodput_bps"]
        if not limited:
            unlimited = [(i, p) for i, p in rows if not _is_finite(p.load_bps)]
            covered = {_place(p) for _, p in unlimited}
            rows = unlimited + [(i, p) for i, p in rows if _place(p) not in covered]
        best: dict[tuple[Place, Count], tuple[int, Point]] = {}
        for index, point in rows:
            key = (_place(point), point.payload_bytes)
            if key not in best or point.value > best[key][1].value:
                best[key] = (index, point._replace(load_bps=np.inf))
        return _by_place(self.data, list(best.values()))


def _is_finite(load: float | None) -> bool:
    return load is not None and bool(np.isfinite(load))


def _place(point: Point) -> Place:
    return point.protocol, point.cores, point.switches or 0


def _by_place(data: Dataset, rows: Iterable[tuple[int, Point]]) -> Curves:
    """Group rows of one metric by place and load into curves."""
    groups: dict[tuple[Place, float], list[tuple[int, Point]]] = {}
    for index, point in rows:
        load = np.nan if point.load_bps is None else point.load_bps
        key = (_place(point), -1.0 if np.isnan(load) else load)
        groups.setdefault(key, []).append((index, point))
    curves: Curves = {}
    for (place, load), members in groups.items():
        curve = _curve(data, np.nan if load == -1.0 else load, members)
        curves.setdefault(place, []).append(curve)
    return curves


def _curve(data: Dataset, load: float, members: list[tuple[int, Point]]) -> Curve:
    """One curve; rows without a payload count only where no row has one."""
    with_payload = {
        p.payload_bytes: (i, p) for i, p in sorted(members, key=lambda m: m[1].options)
        if p.payload_bytes is not None
    }  # fmt: skip
    chosen = [with_payload[payload] for payload in sorted(with_payload)] or members[:1]
    points = [point for _, point in chosen]
    payload = np.array([float(p.payload_bytes or 1) for p in points])
    return Curve(
        load_bps=load,
        payload_bytes=payload,
        ends=_ends(data, payload, points),
        basis=np.array([BASES.index(p.basis) for p in points], dtype=np.int8),
        rows=np.array([i for i, _ in chosen], dtype=np.int64),
        anywhere=not with_payload,
    )


def _ends(data: Dataset, payload: Floats, points: list[Point]) -> Floats:
    """Value, low and high of each row: its own range or spread, else leave-one-out.

    No end crosses 0…1 for ratios, 0 for the rest, or a limit the source states.
    """
    metric = points[0].metric
    value = np.array([p.value for p in points])
    relative = metric not in RATIOS
    fallback = leave_one_out_half_width(payload, value, relative=relative)
    half = np.array([_half_width(p, fallback, relative=relative) for p in points])
    ends = np.stack([value, value - half, value + half])
    for k, point in enumerate(points):
        if point.low is not None:
            ends[LOW, k] = point.low
        if point.high is not None:
            ends[HIGH, k] = point.high
    least, most = _range(data, metric, points[0].protocol)
    ends[LOW] = np.minimum(np.maximum(ends[LOW], least), value)
    ends[HIGH] = np.maximum(np.minimum(ends[HIGH], most), value)
    return ends


def _half_width(point: Point, fallback: float, *, relative: bool) -> float:
    if point.std is not None:
        return spread_half_width(point.std, point.n)
    return fallback * point.value if relative else fallback


def _range(data: Dataset, metric: str, protocol: str) -> tuple[float, float]:
    least, most = 0.0, 1.0 if metric in RATIOS else np.inf
    for limit in data.stated_limits:
        if limit.metric == metric and limit.protocol in (None, protocol):
            least, most = max(least, limit.minimum), min(most, limit.maximum)
    return least, most


def _fair_shares(
    data: Dataset, protocols: Sequence[str], numbered: list[tuple[int, Point]]
) -> dict[int, Curves]:
    """Goodput measured with other endpoints sending too: one stream's share, by endpoint count."""
    shared = [
        (i, p) for i, p in numbered
        if p.metric == "goodput_bps" and (p.endpoints or 1) > 1 and not _is_finite(p.load_bps)
    ]  # fmt: skip
    counts = sorted({p.endpoints for _, p in shared if p.endpoints})
    return {
        count: _by_place(
            data, [(i, p._replace(load_bps=np.inf)) for i, p in shared if p.endpoints == count]
        )
        for count in counts
    }


def _loads(curves: Curves, *, finite: bool) -> Curves:
    kept = {
        place: [c for c in found if np.isfinite(c.load_bps) == finite]
        for place, found in curves.items()
    }
    return {place: found for place, found in kept.items() if found}


def _without_switched(curves: Curves, protocol: str) -> Curves:
    direct = {place[:2] for place in curves if place[2] == 0}
    return {
        place: found
        for place, found in curves.items()
        if place[0] != protocol or place[2] == 0 or place[:2] not in direct
    }


def _crossings(capacities: Iterable[list[Curve]], loads: Floats) -> tuple[float, ...]:
    """Whole payloads beside each point where a goodput curve crosses a load (E14)."""
    found: set[float] = set()
    for curve in (c for curves in capacities for c in curves):
        x, y = curve.payload_bytes, curve.ends[0]
        for load in loads / LOAD_TOLERANCE:
            for k in np.flatnonzero((y[:-1] - load) * (y[1:] - load) < 0):
                where = x[k] + (load - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k])
                found.update((float(np.floor(where)), float(np.floor(where)) + 1))
    return tuple(sorted(found))


# --- look-ups ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Press:
    """Compiles the curves of metrics on one set of knots, loads, protocols and counts."""

    data: Dataset
    protocols: tuple[str, ...]
    cores: tuple[int, ...]
    switch_counts: int
    knots: Floats
    loads: Floats
    extend: bool

    def lookup(
        self,
        metric: str,
        curves: Curves,
        *,
        nearest_cores: bool = False,
        proportional: bool = False,
        carried: Curves | None = None,
    ) -> Lookup:
        """The look-up table of one metric; group 0 answers nothing."""
        places = sorted(curves, key=lambda place: (place[0], place[1] or 0, place[2]))
        surfaces = [self._nothing()]
        for place in places:
            surfaces.append(
                compile_surface(
                    self._carried_only(curves[place], carried, place[0]),
                    self.knots,
                    self.loads,
                    usable=self._usable(curves[place], carried, place[0]),
                    proportional=proportional,
                    extend=self._limits(metric, place[0]) if self.extend else None,
                )
            )
        shape = (len(self.protocols), max(len(self.cores), 1), self.switch_counts)
        group = np.zeros(shape, dtype=np.int64)
        for index in np.ndindex(shape):
            protocol = self.protocols[index[0]]
            asked = self.cores[index[1]] if self.cores else None
            found = _nearest(places, protocol, asked, index[2], nearest_cores=nearest_cores)
            group[index] = 0 if found is None else 1 + places.index(found)
        counts = [(0, 0), *((place[1] or 0, place[2]) for place in places)]
        flat = group.reshape(-1)
        measured = np.array([c for c, _ in counts], dtype=float)[flat]
        counted = np.broadcast_to(np.array(self.cores or (0,), dtype=float)[:, None], shape)
        return Lookup(
            stack(surfaces),
            flat,
            measured,
            np.array([s for _, s in counts], dtype=float)[flat],
            np.array([s.first for s in surfaces]),
            np.array([s.last for s in surfaces]),
            np.concatenate([s.unlimited_only for s in surfaces]),
            np.where(
                (measured > 0) & (counted.reshape(-1) > 0),
                measured / np.maximum(counted.reshape(-1), 1),
                1.0,
            ),
        )

    def _limits(self, metric: str, protocol: str) -> tuple[float, float]:
        return _range(self.data, metric, protocol)

    def _nothing(self) -> Surface:
        cells, slots = len(self.knots) + 1, len(self.loads) + 2
        return Surface(
            np.full((3, 4, cells, slots), np.nan),
            np.zeros((2, 2, cells, slots), dtype=np.int8),
            np.full((4, cells, slots), -1, dtype=np.int64),
            np.zeros(cells, dtype=bool),
            np.inf,
            -np.inf,
        )

    def _carried_only(
        self, curves: list[Curve], carried: Curves | None, protocol: str
    ) -> list[Curve]:
        """Curves in which rows taken in overload give way to the next lower curve, held (E14).

        Else a line between a carried and an overloaded payload would bend towards overload.
        """
        capacity = None if carried is None else carried.get(_most_measured(carried, protocol))
        if capacity is None:
            return curves
        mended: list[Curve] = []
        for curve in sorted(_finite(curves), key=lambda c: c.load_bps):
            over = curve.load_bps > LOAD_TOLERANCE * capacity[0].at(curve.payload_bytes)[VALUE]
            mended.append(_held(curve, over, mended[-1]) if mended and over.any() else curve)
        return [*mended, *(c for c in curves if not np.isfinite(c.load_bps))]

    def _usable(self, curves: list[Curve], carried: Curves | None, protocol: str) -> Bools | None:
        """E14: at each payload only curves whose load the benchmarked goodput carries there."""
        if carried is None:
            return None
        capacity = carried.get(_most_measured(carried, protocol))
        if capacity is None:
            return None
        there = capacity[0].at(left_knots(self.knots))[VALUE]
        loads = sorted(c.load_bps for c in _finite(curves))
        return np.array([load <= LOAD_TOLERANCE * there for load in loads], dtype=bool).reshape(
            len(loads), len(there)
        )


def _finite(curves: Iterable[Curve]) -> list[Curve]:
    return [curve for curve in curves if np.isfinite(curve.load_bps)]


def _held(curve: Curve, over: Bools, lower: Curve) -> Curve:
    """The curve with some of its points taken from a lower curve, marked ``extrapolated``."""
    nearest = np.searchsorted(lower.payload_bytes, curve.payload_bytes, side="right") - 1
    nearest = np.clip(nearest, 0, len(lower.payload_bytes) - 1)
    return replace(
        curve,
        ends=np.where(over, lower.at(curve.payload_bytes), curve.ends),
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=np.where(over, lower.rows[nearest], curve.rows),
    )


def _most_measured(curves: Curves, protocol: str) -> Place:
    """The place of a protocol with the most cores and no switch, where load curves were run."""
    places = [place for place in curves if place[0] == protocol]
    if not places:
        return protocol, None, -1
    return max(places, key=lambda place: (-place[2], place[1] or 0))


def _nearest(
    places: list[Place], protocol: str, cores: Count, switches: int, *, nearest_cores: bool
) -> Place | None:
    """The place that answers: its own cores (or the most measured), most switches not above."""
    own = [p for p in places if p[0] == protocol and p[2] <= switches]
    exact = [p for p in own if p[1] == cores or p[1] is None]
    if exact:
        return max(exact, key=lambda p: p[2])
    if not nearest_cores or not own:
        return None
    most = max(p[1] or 0 for p in own)
    return max((p for p in own if p[1] == most), key=lambda p: p[2])
