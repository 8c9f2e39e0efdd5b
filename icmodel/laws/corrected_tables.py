"""Tables of the law `corrected`: curves through the unchanged rows, with the errata of the tables corrected.

Each metric has a table.  Further tables hold the best goodput of any load, the loss at limited loads, and shared
goodputs.  At payloads that do not achieve a load, the law replaces the points of that load's curve (E14).  `hybrid`
uses the same functions on fitted curves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Floats
from icmodel.dataset import Dataset
from icmodel.fits.observations import achieved_shares
from icmodel.laws.flow import SHARED
from icmodel.laws.law import Prepared, TableRequest, any_cores, compiler, loads_of, of_protocols
from icmodel.laws.metrics import GROWING
from icmodel.laws.packets import MULTIPLE, PACKETS, as_multiples
from icmodel.laws.substitution import own_rows, with_places
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
from icmodel.tables.bilinear import EXTRAPOLATED
from icmodel.tables.curves import (
    alone,
    best_goodput,
    curves_of,
    is_limited,
    left_knots,
    shared_goodput,
    with_loads,
)
from icmodel.tables.left_out import interpolation_errors

BEST, LIMITED_LOSS, ACHIEVED = "_best_goodput_bps", "_limited_loss_rate", "_achieved_share"
"""Names of three tables of a law.

In this order, they hold the best goodput of all loads, the loss at limited loads, and the ratio of goodput to request
for an achieved request.
"""
LOAD_TOLERANCE = 1.005
"""Greatest ratio of offered load to best goodput of a payload at which the payload counts as achieving the load.

See erratum E14.
"""


def prepare(data: Dataset, request: TableRequest) -> Prepared:
    """Make the look-up tables of every metric from a dataset's rows, with the errata of the tables corrected.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    found = {name: own_rows(data, name, request.options) for name in data.protocols}
    every = with_places(data, found)
    own = of_protocols(every, request.protocols)
    rows = alone(own)
    errors = interpolation_errors(data, "goodput_bps")
    best = best_goodput(data, rows, errors, limited=True)
    every_best = best_goodput(data, alone(every), None, limited=True)
    more_knots = crossings(every_best, data.protocols, loads_of(every))
    compile_ = compiler(data, request, every, more_knots)
    unlimited = best_goodput(data, rows, errors, limited=False)
    tables = flow_tables(compile_, best, unlimited, curves_of(data, rows, "loss_rate"))
    for count, shared in shared_goodput(data, own, errors).items():
        tables[f"{SHARED}{count}"] = compile_.table("goodput_bps", shared)
    _, low, high = achieved_shares(data, request.protocols)
    shares = np.stack([np.ones_like(low), low, np.maximum(high, 1)])
    tables[ACHIEVED] = achieved_table(compile_, shares)
    metrics = request.metrics(rows)
    for metric in metrics:
        below: Below = "proportion" if metric.startswith(GROWING) else "held"
        relative = as_multiples(data, metric) if metric.startswith(PACKETS) else None
        if relative is None:
            name, curves = metric, curves_of(data, rows, metric)
        else:
            name, below = MULTIPLE + metric, "one"
            divided = [Row(row.place, relative.points[row.place]) for row in rows]
            curves = curves_of(relative, divided, metric)
        if metric == "cpu_recv":
            curves = without_switched(curves, "udp")  # E7
        held = {key: hold_overloads(each, achieved(best, key)) for key, each in curves.items()}
        tables[name] = compile_.table(
            metric,
            held,
            any_cores=any_cores(metric),
            below=below,
            usable=partial(usable, compile_, curves, best),
        )
    made = Tables(compile_, tables, data.link(request.options))
    return Prepared(made, request, tuple(metrics), every)


def flow_tables(
    compile_: Compiler, best: Curves, unlimited: Curves, loss: Curves
) -> dict[str, MetricTable]:
    """Compile the tables of goodput and of loss: each at the unlimited load, and at limited loads."""
    lost = with_loads(loss, lambda load: not is_limited(load))
    lost_limited = with_loads(loss, is_limited)
    return {
        BEST: compile_.table("goodput_bps", best),
        "goodput_bps": compile_.table("goodput_bps", unlimited),
        "loss_rate": compile_.table("loss_rate", lost),
        LIMITED_LOSS: compile_.table("loss_rate", lost_limited, below="nothing"),
    }


def achieved_table(compile_: Compiler, shares: Floats) -> MetricTable:
    """Compile the table of the ratio of goodput to request, for requests below capacity.

    ``shares`` (3, protocols) holds value, low and high.
    """
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


def without_switched(curves: Curves, protocol: str) -> Curves:
    """Drop a protocol's curves measured behind a switch if the protocol also has curves without a switch.

    E7: a switch changes only the sender's CPU time of UDP (IC2012 §7.1.3); the receiver's is equal (§6.5.1.3).
    """
    direct = {key[:2] for key in curves if key.switches == 0}
    return {
        key: found
        for key, found in curves.items()
        if key.protocol != protocol or key.switches == 0 or key[:2] not in direct
    }


# --- E14: loads that a payload does not achieve ---------------------------------------------------


def achieved(best: Curves, key: Configuration) -> Curve | None:
    """Make the curve of a protocol's best goodput, with the fewest switches and the most cores.

    A comparison of the other curves' loads with this curve tells which loads are achieved.
    """
    keys = [known for known in best if known.protocol == key.protocol]
    most = max(keys, key=lambda known: (-known.switches, known.cores or 0), default=None)
    return None if most is None else best[most][0]


def usable(compile_: Compiler, curves: Curves, best: Curves, key: Configuration) -> Bools | None:
    """Mark the payloads that achieve each curve's load, as a boolean mask (limited loads, payload intervals).

    The mask is ``None`` if the best goodput is unknown; all payloads then count as achieved.
    """
    reached = achieved(best, key)
    if reached is None:
        return None
    there = reached.value_at(left_knots(compile_.axes.knots))
    loads = sorted(curve.load_bps for curve in curves[key] if is_limited(curve.load_bps))
    return np.array([load <= LOAD_TOLERANCE * there for load in loads], dtype=bool).reshape(
        len(loads), len(there)
    )


def hold_overloads(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Replace points in overload on a load curve by points of the next lower load.

    Replaced points are marked ``extrapolated``.  Without the replacement, a line from an achieved to an overloaded
    payload would bend towards overload.
    """
    if best is None:
        return list(curves)
    mended: list[Curve] = []
    limited = [curve for curve in curves if is_limited(curve.load_bps)]
    for curve in sorted(limited, key=lambda curve: curve.load_bps):
        payloads = curve.payload_bytes
        over = curve.load_bps > LOAD_TOLERANCE * best.value_at(payloads)
        if mended and over.any():
            lower = mended[-1]
            passed = lower.payload_bytes.searchsorted(payloads, side="right")
            nearest = np.maximum(passed - 1, 0)
            curve = replace(
                curve,
                ends=np.where(over, lower.at(payloads), curve.ends),
                basis=np.where(over, EXTRAPOLATED, curve.basis).astype(np.int8),
                rows=np.where(over, lower.rows[nearest], curve.rows),
            )
        mended.append(curve)
    return [*mended, *(curve for curve in curves if not is_limited(curve.load_bps))]


def crossings(best: Curves, protocols: Iterable[str], loads: Floats) -> tuple[float, ...]:
    """Find the payloads [B] at which the best goodput of a protocol crosses an offered load.

    The result holds the whole numbers of bytes just below and just above each crossing.
    """
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
