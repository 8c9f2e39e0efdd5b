"""Tables of ``hybrid``: the curves of ``corrected``, drawn from fits to all rows of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Floats
from icmodel.dataset import Dataset
from icmodel.fits.refine import Refiner
from icmodel.laws.corrected_tables import (
    ACHIEVED,
    LOAD_TOLERANCE,
    achieved,
    achieved_table,
    crossings,
    flow_tables,
    usable,
    without_switched,
)
from icmodel.laws.metrics import BY_FLOW, GROWING
from icmodel.laws.packets import MULTIPLE
from icmodel.laws.prepared import Prepared, Wanted, any_cores, compiler, loads_of, of_protocols
from icmodel.laws.sharing import SHARED
from icmodel.laws.substitution import Rows, nearest_rows
from icmodel.scenario import Where
from icmodel.tables import Compiler, Curve, Curves, Row, Tables
from icmodel.tables.cells import EXTRAPOLATED
from icmodel.tables.curves import (
    alone,
    best_goodput,
    configuration_of,
    curves_of,
    is_limited,
    shared_goodput,
)
from icmodel.tables.left_out import Misses, misses


@dataclass(frozen=True, eq=False)
class Shared:
    """What tables of the same protocols, options and payloads share, in overload or not, whatever their metrics.

    ``found`` are the rows that answer each protocol, ``knots`` the payloads that every curve gets [B].
    """

    refiner: Refiner
    wanted: Wanted
    found: Mapping[str, Rows]
    knots: Floats

    def drawn(self, metric: str, curves: Curves, *, overload: bool = False) -> Curves:
        """Curves of a metric, drawn from its fit."""
        return {
            key: [
                self.refiner.refined(metric, curve, self.knots, self._where(key.protocol, overload))
                for curve in found
            ]
            for key, found in curves.items()
        }

    @property
    def on_own_link(self) -> Shared:
        """The same on the dataset's own link."""
        return replace(self, refiner=self.refiner.on_own_link)

    def _where(self, protocol: str, overload: bool) -> Where:
        """Where the curves of a protocol are drawn."""
        where = Where(self.wanted.extend, overload)
        if not self.found[protocol].substituted:
            return where
        return where._replace(options=self.wanted.options)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows of all protocols that answer."""
        data = self.wanted.data
        index = {id(point): k for k, point in enumerate(data.points)}
        return [
            Row(index[id(point)], point)
            for protocol in data.protocols
            for point in self.found[protocol].points
        ]

    @cached_property
    def goodput_errors(self) -> Misses | None:
        """Interpolation errors of the goodput; ``None`` where a fit draws all its curves."""
        if self.refiner.draws_all("goodput_bps"):
            return None
        return misses(self.wanted.data, "goodput_bps")

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler of the tables, whose axes are those of all protocols."""
        data, rows = self.wanted.data, self.rows
        best = best_goodput(data, alone(rows), self.goodput_errors, limited=True)
        beside = crossings(self.drawn("goodput_bps", best), data.protocols, loads_of(rows))
        return compiler(self.wanted, rows, (*beside, *self.knots))


class FittedTables:
    """Prepares tables whose curves are drawn from fits; ``changes`` says what differs from the dataset's own hosts."""

    def __init__(self, data: Dataset, refiner: Refiner, changes: Sequence[str] = ()) -> None:
        self.data, self.refiner, self.changes = data, refiner, changes
        self._shared = lru_cache(maxsize=16)(self._shared_by)

    def prepare(self, wanted: Wanted) -> Prepared:
        """Tables of every metric.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        return _tables(shared, wanted, shared.rows, "; ".join(self.changes))

    def prepare_overload(self, wanted: Wanted) -> Prepared | None:
        """Tables of the runs in overload alone; ``None`` where they lack a metric that the other tables have.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        over = self._overload(shared, wanted)
        return None if over is None else _tables(shared, wanted, over, "", overload=True)

    def draw(self, wanted: Wanted) -> None:
        """Draw all curves of both kinds of tables, which are kept.

        Raises
        ------
        DatasetError
            If the dataset does not have an option.
        """
        shared = self._shared_of(wanted)
        _drawn(shared, wanted, shared.rows)
        if over := self._overload(shared, wanted):
            _drawn(shared, wanted, over, overload=True)

    def _overload(self, shared: Shared, wanted: Wanted) -> list[Row] | None:
        """The rows in overload; ``None`` where they lack a metric that other rows have."""
        own = of_protocols(shared.rows, wanted.protocols)
        over = overload_rows(own, self.refiner)
        known, over_known = ({row.point.metric for row in alone(rows)} for rows in (own, over))
        return over if known - set(BY_FLOW) <= over_known else None

    def _shared_of(self, wanted: Wanted) -> Shared:
        options = tuple(sorted(wanted.options.items()))
        return self._shared(options, wanted.protocols, wanted.extend)

    def _shared_by(
        self, options: tuple[tuple[str, str], ...], protocols: tuple[str, ...], extend: bool
    ) -> Shared:
        wanted = Wanted(self.data, dict(options), protocols, extend)
        every = self.data.protocols
        found = {name: nearest_rows(self.data, name, wanted.options) for name in every}
        return Shared(self.refiner, wanted, found, self.refiner.knots(every, wanted.options))


class Drawn(NamedTuple):
    """The curves that tables are compiled from.

    ``best`` is the best goodput at any load, ``carried`` that on the dataset's own link, ``unlimited`` that at the
    unlimited load, ``shared`` one stream's goodput by number of endpoints.
    """

    best: Curves
    carried: Curves
    unlimited: Curves
    loss: Curves
    shared: Mapping[int, Curves]
    metrics: Mapping[str, Curves]


def _drawn(shared: Shared, wanted: Wanted, rows: Sequence[Row], *, overload: bool = False) -> Drawn:
    """Draw the curves of some rows."""
    data, drawn = wanted.data, partial(shared.drawn, overload=overload)
    own = of_protocols(rows, wanted.protocols)
    lone = alone(own)

    def of(metric: str) -> Curves:
        bare = shared.refiner.draws_all(metric)
        return drawn(metric, curves_of(data, lone, metric, bare=bare))

    goodput = partial(best_goodput, data, lone, shared.goodput_errors)
    by_endpoints = shared_goodput(data, own, shared.goodput_errors)
    at_any_load = goodput(limited=True)
    return Drawn(
        drawn("goodput_bps", at_any_load),
        shared.on_own_link.drawn("goodput_bps", at_any_load, overload=overload),
        drawn("goodput_bps", goodput(limited=False)),
        of("loss_rate"),
        {count: drawn("goodput_bps", curves) for count, curves in by_endpoints.items()},
        {metric: of(metric) for metric in wanted.metrics(lone)},
    )


def _tables(
    shared: Shared, wanted: Wanted, rows: Sequence[Row], instead: str, *, overload: bool = False
) -> Prepared:
    """Tables of some rows on the axes of all."""
    refiner, compile_ = shared.refiner, shared.compiler
    best, carried, unlimited, loss, by_endpoints, metrics = _drawn(
        shared, wanted, rows, overload=overload
    )
    tables = flow_tables(compile_, best, unlimited, loss)
    for count, curves in by_endpoints.items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", curves)
    tables[ACHIEVED] = achieved_table(compile_, refiner.carried(wanted.protocols))
    for metric, every in metrics.items():
        curves = without_switched(every, "udp") if metric == "cpu_recv" else every  # E7
        multiple = refiner.fits.is_packet_multiple(metric)
        growing = metric.startswith(GROWING)
        tables[MULTIPLE + metric if multiple else metric] = compile_.table(
            metric,
            curves
            if growing
            else {k: hold_from_edge(c, achieved(carried, k)) for k, c in curves.items()},
            any_cores=any_cores(metric),
            below="one" if multiple else "proportion" if growing else "held",
            usable=partial(usable, compile_, curves, carried),
        )
    why = {name: instead or shared.found[name].substituted for name in wanted.protocols}
    made = Tables(compile_, tables, wanted.data.link(wanted.options), with_headers=True)
    return Prepared(made, wanted, tuple(metrics), shared.rows, why)


def hold_from_edge(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Limited curves, held beyond the payloads at which their load is achieved (E14)."""
    if best is None:
        return list(curves)
    return [_held_from_edge(c, best) if is_limited(c.load_bps) else c for c in curves]


def _held_from_edge(curve: Curve, best: Curve) -> Curve:
    """The curve with points in overload taken from the nearest other point, marked ``extrapolated``."""
    over = curve.load_bps > LOAD_TOLERANCE * best.value_at(curve.payload_bytes)
    if over.all() or not over.any():
        return curve
    logs, known = np.log(curve.payload_bytes), np.flatnonzero(~over)
    nearest = known[np.abs(logs[:, None] - logs[known]).argmin(axis=1)]
    return replace(
        curve,
        ends=curve.ends[:, nearest],
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=curve.rows[nearest],
        next_rows=None if curve.next_rows is None else curve.next_rows[nearest],
    )


def overload_rows(rows: Sequence[Row], refiner: Refiner) -> list[Row]:
    """The rows in overload, as unlimited ones.

    Of several loads at a payload the greatest is used: the amount of overload changes little for a sender.
    """
    over = refiner.overloaded([row.point for row in rows])
    kept = [row for row, is_over in zip(rows, over, strict=True) if is_over]
    greatest: dict[tuple[object, ...], Row] = {}
    for index, point in sorted(kept, key=lambda row: row.point.load_bps or 0.0):
        counts = (point.options, point.endpoints, point.other_goodput_bps)
        key = (configuration_of(point), *counts, point.metric, point.payload_bytes)
        greatest[key] = Row(index, point._replace(load_bps=np.inf))
    return sorted(greatest.values(), key=lambda row: row.place)
