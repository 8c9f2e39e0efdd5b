"""Put a dataset's rows on the shelf: curves by protocol, core count and switch count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icmodel.dataset import RATIOS as RATIOS
from icmodel.dataset import Dataset, Point
from icmodel.estimate import BASES
from icmodel.interpolation import HIGH, LOW, NORMAL, Curve
from icmodel.model.misses import Misses, misses

Floats = NDArray[np.float64]

Count = int | None
Place = tuple[str, Count, int]
"""Protocol, cores and switches."""
Numbered = tuple[int, Point]
"""A row and its index in the dataset."""
Curves = dict[Place, list[Curve]]

BUSY_CORES = ("cpu_send_cores", "cpu_recv_cores", "_process_cores")
"""Endings of metrics in busy processors."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The rows of a lone stream, put into curves by place."""

    data: Dataset
    protocols: tuple[str, ...]
    numbered: tuple[Numbered, ...]

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
        return _byplace_of(self.data, [(i, p) for i, p in self.numbered if p.metric == metric])

    def goodput(self, *, limited: bool) -> Curves:
        """One goodput curve a place: unlimited, or the best any load reached (``limited``)."""
        rows = [(i, p) for i, p in self.numbered if p.metric == "goodput_bps"]
        if not limited:
            unlimited = [(i, p) for i, p in rows if not _is_finite(p.load_bps)]
            covered = {place_of(p) for _, p in unlimited}
            rows = unlimited + [(i, p) for i, p in rows if place_of(p) not in covered]
        best: dict[tuple[Place, Count], tuple[int, Point]] = {}
        for index, point in rows:
            key = (place_of(point), point.payload_bytes)
            if key not in best or point.value > best[key][1].value:
                best[key] = (index, point._replace(load_bps=np.inf))
        return _byplace_of(self.data, list(best.values()))


def _is_finite(load: float | None) -> bool:
    return load is not None and bool(np.isfinite(load))


def place_of(point: Point) -> Place:
    """Where a row stands."""
    return point.protocol, point.cores, point.switches or 0


def _byplace_of(data: Dataset, rows: Iterable[Numbered]) -> Curves:
    """Group rows of one metric by place and load into curves."""
    groups: dict[tuple[Place, float], list[Numbered]] = {}
    for index, point in rows:
        load = np.nan if point.load_bps is None else point.load_bps
        key = (place_of(point), -1.0 if np.isnan(load) else load)
        groups.setdefault(key, []).append((index, point))
    curves: Curves = {}
    metric = next((members[0][1].metric for members in groups.values()), "")
    found = misses(data, metric)
    for (place, load), members in groups.items():
        curve = _curve(data, found, np.nan if load == -1.0 else load, members)
        curves.setdefault(place, []).append(curve)
    return curves


def _curve(data: Dataset, found: Misses, load: float, members: list[Numbered]) -> Curve:
    """One curve; rows without a payload count only where no row has one."""
    with_payload = {
        p.payload_bytes: (i, p) for i, p in sorted(members, key=lambda m: m[1].options)
        if p.payload_bytes is not None
    }  # fmt: skip
    chosen = [with_payload[payload] for payload in sorted(with_payload)] or members[:1]
    points = [point for _, point in chosen]
    payload = np.array([float(p.payload_bytes or 1) for p in points])
    value = np.array([p.value for p in points])
    limits = limits_of(data, points)
    return Curve(
        load_bps=load,
        payload_bytes=payload,
        ends=_ends(data, found, limits, points),
        basis=np.array([BASES.index(p.basis) for p in points], dtype=np.int8),
        rows=np.array([i for i, _ in chosen], dtype=np.int64),
        anywhere=not with_payload,
        between=found.between(payload, value),
        limits=limits,
    )


def _ends(data: Dataset, found: Misses, limits: tuple[float, float], points: list[Point]) -> Floats:
    """Value, low and high of each row in any session, within what the metric can be."""
    value = np.array([p.value for p in points])
    session = NORMAL * data.between_sessions.get(points[0].metric, 0.0)
    of_value = np.abs(value) if found.relative else np.ones_like(value)
    below, above = np.hypot(found.of_rows(points), session * of_value)
    ends = np.stack([value, value - below, value + above])
    ends[LOW] = np.minimum(np.maximum(ends[LOW], limits[0]), value)
    ends[HIGH] = np.maximum(np.minimum(ends[HIGH], limits[1]), value)
    return ends


def limits_of(data: Dataset, points: Sequence[Point]) -> tuple[float, float]:
    """Least and most a metric can be at the rows of one place.

    No more processors are busy than the rows have; where a row is above that, they had more.
    """
    least, most = stated_range(data, points[0].metric, points[0].protocol)
    cores = points[0].cores
    if points[0].metric.endswith(BUSY_CORES) and cores and max(p.value for p in points) <= cores:
        most = min(most, float(cores))
    return least, most


def stated_range(data: Dataset, metric: str, protocol: str) -> tuple[float, float]:
    """Least and most a metric can be: 0…1 for ratios, and what the source states."""
    least, most = 0.0, 1.0 if metric in RATIOS else np.inf
    for limit in data.stated_limits:
        if limit.metric == metric and limit.protocol in (None, protocol):
            least, most = max(least, limit.minimum), min(most, limit.maximum)
    return least, most


def fair_shares(
    data: Dataset, protocols: Sequence[str], numbered: list[Numbered]
) -> dict[int, Curves]:
    """Goodput measured with other endpoints sending too: one stream's share, by endpoint count."""
    shared = [
        (i, p) for i, p in numbered
        if p.metric == "goodput_bps" and (p.endpoints or 1) > 1 and not _is_finite(p.load_bps)
    ]  # fmt: skip
    counts = sorted({p.endpoints for _, p in shared if p.endpoints})
    return {
        count: _byplace_of(
            data, [(i, p._replace(load_bps=np.inf)) for i, p in shared if p.endpoints == count]
        )
        for count in counts
    }


def by_load(curves: Curves, *, finite: bool) -> Curves:
    """Only the curves with a limited load, or only the others."""
    kept = {
        place: [c for c in found if np.isfinite(c.load_bps) == finite]
        for place, found in curves.items()
    }
    return {place: found for place, found in kept.items() if found}


def without_switched(curves: Curves, protocol: str) -> Curves:
    """Without a protocol's curves behind a switch, where it has them without."""
    direct = {place[:2] for place in curves if place[2] == 0}
    return {
        place: found
        for place, found in curves.items()
        if place[0] != protocol or place[2] == 0 or place[:2] not in direct
    }
