"""Tables of ``hybrid``: the curves of ``corrected``, drawn from fits to all rows of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from icmodel.arrays import Floats
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
from icmodel.tables import VALUE, Curve, Curves, Row, Tables
from icmodel.tables.bilinear import EXTRAPOLATED
from icmodel.tables.curves import (
    alone,
    best_goodput,
    configuration_of,
    curves_of,
    is_limited,
    shared_goodput,
)


@dataclass(frozen=True, slots=True, eq=False)
class FittedCurves:
    """Draws the curves of some tables from fits."""

    refiner: Refiner
    wanted: Wanted
    found: Mapping[str, Rows]
    knots: Floats
    overload: bool

    def of(self, metric: str, curves: Curves) -> Curves:
        """Curves of a metric, drawn from its fit."""
        return {
            key: [
                self.refiner.refined(metric, curve, self.knots, self._where(key.protocol))
                for curve in found
            ]
            for key, found in curves.items()
        }

    def _where(self, protocol: str) -> Where:
        """Where the curves of a protocol are drawn."""
        where = Where(self.wanted.extend, self.overload)
        if not self.found[protocol].substituted:
            return where
        return replace(where, options=self.wanted.options)

    def rows(self) -> list[Row]:
        """The rows of all protocols that answer."""
        data = self.wanted.data
        index = {id(point): k for k, point in enumerate(data.points)}
        return [
            Row(index[id(point)], point)
            for protocol in data.protocols
            for point in self.found[protocol].points
        ]


def fitted_curves(refiner: Refiner, wanted: Wanted, *, overload: bool) -> FittedCurves:
    """Collect what some tables are drawn from.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    data = wanted.data
    found = {name: nearest_rows(data, name, wanted.options) for name in data.protocols}
    knots = refiner.knots(data.protocols, wanted.options)
    return FittedCurves(refiner, wanted, found, knots, overload)


def prepare(refiner: Refiner, changes: Sequence[str], wanted: Wanted) -> Prepared:
    """Tables of every metric, drawn from its fit."""
    fitted = fitted_curves(refiner, wanted, overload=False)
    every = fitted.rows()
    return _tables(fitted, every, every, changes)


def prepare_overload(refiner: Refiner, wanted: Wanted) -> Prepared | None:
    """Tables of the runs in overload alone.

    ``None`` where they lack a metric that the other tables have.
    """
    fitted = fitted_curves(refiner, wanted, overload=True)
    every = fitted.rows()
    own = alone(of_protocols(every, wanted.protocols))
    over = overload_rows(of_protocols(every, wanted.protocols), refiner)
    known, over_known = ({row.point.metric for row in rows} for rows in (own, alone(over)))
    return _tables(fitted, every, over, ()) if known - set(BY_FLOW) <= over_known else None


def _tables(
    fitted: FittedCurves, every: Sequence[Row], rows: Sequence[Row], changes: Sequence[str]
) -> Prepared:
    """Tables of some rows on the axes of all."""
    wanted, data = fitted.wanted, fitted.wanted.data
    plain = replace(fitted, overload=False)
    drawn = fitted.refiner.draws_all
    bare = drawn("goodput_bps")
    every_best = plain.of("goodput_bps", best_goodput(data, alone(every), limited=True, bare=bare))
    beside = crossings(every_best, data.protocols, loads_of(every))
    compile_ = compiler(wanted, every, (*beside, *fitted.knots))
    own = of_protocols(rows, wanted.protocols)
    lone = alone(own)
    best = fitted.of("goodput_bps", best_goodput(data, lone, limited=True, bare=bare))
    unlimited = fitted.of("goodput_bps", best_goodput(data, lone, limited=False, bare=bare))
    loss = fitted.of("loss_rate", curves_of(data, lone, "loss_rate", bare=drawn("loss_rate")))
    tables = flow_tables(compile_, best, unlimited, loss)
    for count, curves in shared_goodput(data, own, bare=bare).items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", fitted.of("goodput_bps", curves))
    tables[ACHIEVED] = achieved_table(compile_, fitted.refiner.carried(wanted.protocols))
    metrics = wanted.metrics(lone)
    for metric in metrics:
        curves = fitted.of(metric, curves_of(data, lone, metric, bare=drawn(metric)))
        if metric == "cpu_recv":
            curves = without_switched(curves, "udp")  # E7
        multiple = fitted.refiner.fits.is_packet_multiple(metric)
        growing = metric.startswith(GROWING)
        tables[MULTIPLE + metric if multiple else metric] = compile_.table(
            metric,
            curves
            if growing
            else {k: hold_from_edge(c, achieved(best, k)) for k, c in curves.items()},
            any_cores=any_cores(metric),
            below="one" if multiple else "proportion" if growing else "held",
            usable=partial(usable, compile_, curves, best),
        )
    instead = "; ".join(changes)
    why = {name: instead or fitted.found[name].substituted for name in wanted.protocols}
    link = data.link(wanted.options)
    made = Tables(compile_, tables, link, with_headers=True)
    return Prepared(made, wanted, tuple(metrics), every, why)


def hold_from_edge(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Limited curves, held beyond the payloads at which their load is achieved (E14)."""
    if best is None:
        return list(curves)
    return [_held_from_edge(c, best) if is_limited(c.load_bps) else c for c in curves]


def _held_from_edge(curve: Curve, best: Curve) -> Curve:
    """The curve with points in overload taken from the nearest other point, marked ``extrapolated``."""
    over = curve.load_bps > LOAD_TOLERANCE * best.at(curve.payload_bytes)[VALUE]
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
