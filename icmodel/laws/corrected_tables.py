"""Tables of ``corrected``: errata that concern curves are corrected before the curves are compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.fits.achieved import achieved_shares
from icmodel.laws.metrics import GROWING
from icmodel.laws.packet_multiples import PACKETS, as_multiples
from icmodel.laws.packets import MULTIPLE
from icmodel.laws.prepared import (
    Prepared,
    Wanted,
    any_cores,
    compiler,
    loads_of,
    of_protocols,
    rows_of,
)
from icmodel.laws.sharing import SHARED
from icmodel.tables import (
    VALUE,
    Below,
    Compiler,
    Configuration,
    Curve,
    Curves,
    MetricTable,
    Row,
    Tables,
)
from icmodel.tables.cells import EXTRAPOLATED
from icmodel.tables.curve import left_knots
from icmodel.tables.curves import (
    alone,
    best_goodput,
    curves_of,
    is_limited,
    shared_goodput,
    with_loads,
)
from icmodel.tables.left_out import misses

BEST, LIMITED_LOSS, ACHIEVED = "_best_goodput_bps", "_limited_loss_rate", "_achieved_share"
"""Tables of the best goodput of all loads, of the loss at limited loads, and of the goodput of an achieved
request as a share of it."""
LOAD_TOLERANCE = 1.005
"""A load counts as achieved up to this times the best goodput there (E14)."""


def prepare(wanted: Wanted) -> Prepared:
    """Tables of every metric with the errata corrected.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    data, every = wanted.data, rows_of(wanted.data, wanted.options)
    own = of_protocols(every, wanted.protocols)
    rows, link = alone(own), data.link(wanted.options)
    errors = misses(data, "goodput_bps")
    best = best_goodput(data, rows, errors, limited=True)
    every_best = best_goodput(data, alone(every), None, limited=True)
    compile_ = compiler(wanted, every, crossings(every_best, data.protocols, loads_of(every)))
    unlimited = best_goodput(data, rows, errors, limited=False)
    tables = flow_tables(compile_, best, unlimited, curves_of(data, rows, "loss_rate"))
    for count, curves in shared_goodput(data, own, errors).items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", curves)
    _, low, high = achieved_shares(data, wanted.protocols)
    tables[ACHIEVED] = achieved_table(
        compile_, np.stack([np.ones_like(low), low, np.maximum(high, 1)])
    )
    metrics = wanted.metrics(rows)
    for metric in metrics:
        name, curves, below = _curves(data, rows, metric)
        held = {key: hold_overloads(found, achieved(best, key)) for key, found in curves.items()}
        tables[name] = compile_.table(
            metric,
            held,
            any_cores=any_cores(metric),
            below=below,
            usable=partial(usable, compile_, curves, best),
        )
    return Prepared(Tables(compile_, tables, link), wanted, tuple(metrics), every)


def flow_tables(
    compile_: Compiler, best: Curves, unlimited: Curves, loss: Curves
) -> dict[str, MetricTable]:
    """The tables of goodput and loss, at the unlimited and at limited loads."""
    lost = with_loads(loss, lambda load: not is_limited(load))
    lost_limited = with_loads(loss, is_limited)
    return {
        BEST: compile_.table("goodput_bps", best),
        "goodput_bps": compile_.table("goodput_bps", unlimited),
        "loss_rate": compile_.table("loss_rate", lost),
        LIMITED_LOSS: compile_.table("loss_rate", lost_limited, below="nothing"),
    }


def achieved_table(compile_: Compiler, shares: Floats) -> MetricTable:
    """Table of the goodput of an achieved request as a share of it, from value, low and high by protocol."""
    curves = {
        Configuration(protocol, None, 0): [
            Curve(
                load_bps=np.inf,
                payload_bytes=np.ones(1),
                ends=shares[:, [k]],
                basis=np.zeros(1, dtype=np.int8),
                rows=np.full(1, -1),
                anywhere=True,
            )
        ]
        for k, protocol in enumerate(compile_.axes.protocols)
    }
    return compile_.table(ACHIEVED, curves)


def _curves(data: Dataset, rows: Sequence[Row], metric: str) -> tuple[str, Curves, Below]:
    """The name of a metric's table, its curves, and its rule below the lowest load."""
    if metric.startswith(PACKETS) and (relative := as_multiples(data, metric)) is not None:
        own = [Row(row.place, relative.points[row.place]) for row in rows]
        return MULTIPLE + metric, curves_of(relative, own, metric), "one"
    curves = curves_of(data, rows, metric)
    if metric == "cpu_recv":
        curves = without_switched(curves, "udp")  # E7
    return metric, curves, "proportion" if metric.startswith(GROWING) else "held"


def without_switched(curves: Curves, protocol: str) -> Curves:
    """Leave out a protocol's curves behind a switch if it has curves without one.

    E7: a switch changes UDP's sending CPU only (IC2012 §7.1.3); the receiver's is equal (§6.5.1.3).
    """
    direct = {key[:2] for key in curves if key.switches == 0}
    return {
        key: found
        for key, found in curves.items()
        if key.protocol != protocol or key.switches == 0 or key[:2] not in direct
    }


# --- E14: loads that a payload does not achieve ---------------------------------------------------


def achieved(best: Curves, key: Configuration) -> Curve | None:
    """The best goodput of a protocol in the configuration of its load curves: most cores, no switch."""
    keys = [known for known in best if known.protocol == key.protocol]
    most = max(keys, key=lambda known: (-known.switches, known.cores or 0), default=None)
    return None if most is None else best[most][0]


def usable(compile_: Compiler, curves: Curves, best: Curves, key: Configuration) -> Bools | None:
    """Where each curve's load is achieved, shape (curves by load, cells)."""
    reached = achieved(best, key)
    if reached is None:
        return None
    there = reached.value_at(left_knots(compile_.axes.knots))
    loads = sorted(curve.load_bps for curve in curves[key] if is_limited(curve.load_bps))
    return np.array([load <= LOAD_TOLERANCE * there for load in loads], dtype=bool).reshape(
        len(loads), len(there)
    )


def hold_overloads(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Replace points in overload by those of the next lower load.

    Otherwise a line between an achieved and an overloaded payload would bend towards overload.
    """
    if best is None:
        return list(curves)
    mended: list[Curve] = []
    limited = [curve for curve in curves if is_limited(curve.load_bps)]
    for curve in sorted(limited, key=lambda curve: curve.load_bps):
        over = curve.load_bps > LOAD_TOLERANCE * best.value_at(curve.payload_bytes)
        mended.append(_held(curve, over, mended[-1]) if mended and over.any() else curve)
    return [*mended, *(curve for curve in curves if not is_limited(curve.load_bps))]


def _held(curve: Curve, over: Bools, lower: Curve) -> Curve:
    """The curve with some points taken from a lower curve, marked ``extrapolated``."""
    passed = lower.payload_bytes.searchsorted(curve.payload_bytes, side="right")
    nearest = np.maximum(passed - 1, 0)
    return replace(
        curve,
        ends=np.where(over, lower.at(curve.payload_bytes), curve.ends),
        basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
        rows=np.where(over, lower.rows[nearest], curve.rows),
    )


def crossings(best: Curves, protocols: Iterable[str], loads: Floats) -> tuple[float, ...]:
    """Whole payloads next to each point where a protocol's best goodput crosses a load [B]."""
    found: set[float] = set()
    for protocol in protocols:
        curve = achieved(best, Configuration(protocol, None, 0))
        if curve is None:
            continue
        x, y = curve.payload_bytes, curve.ends[VALUE]
        for load in loads / LOAD_TOLERANCE:
            for k in np.flatnonzero(((y[:-1] - load) * (y[1:] - load) <= 0) & (y[:-1] != y[1:])):
                where = x[k] + (load - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k])
                found.update((float(np.floor(where)), float(np.floor(where)) + 1))
    return tuple(sorted(found))
