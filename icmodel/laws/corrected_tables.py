"""Look-up tables of the law `corrected`, made from dataset rows; `hybrid` uses the same functions on fitted curves.

Each metric has a table.  Further tables hold the best goodput of all loads, the loss at limited loads, and the goodput
of a stream that shares its interface.

E1 to E19 are the errata of IC2012 (docs/background/errata.md), which this law corrects.  One is E14: if the best goodput
at a payload is lower than a load, the hosts do not achieve this load.  The curve of the load is then not used at this
payload.

Metrics of packets have tables of multiples.  A *multiple* is the packet count of a host divided by theory's packet count
for the same frames.  Theory counts packets in two ways (IC2012 §6.1.1): at a load below capacity, two frames share no
packet; at capacity, a stream fills its packets whatever the frame size.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Floats, fast_where
from icmodel.dataset import Dataset, Point
from icmodel.fits.observations import OVERLOADED, unmeasured_loss
from icmodel.laws import Prepared, TableRequest, any_cores, compiler, loads_of, of_protocols
from icmodel.laws.flow import SHARED, Flow
from icmodel.laws.metrics import GROWING
from icmodel.laws.substitution import own_rows, widened, with_places
from icmodel.tables import (
    HIGH,
    LOW,
    VALUE,
    Below,
    Compiler,
    Configuration,
    Curve,
    Curves,
    MetricTable,
    Row,
    TableQuery,
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
from icmodel.tables.wire import wire

BEST, LIMITED_LOSS = "_best_goodput_bps", "_limited_loss_rate"
"""Names of two tables: best goodput of all loads, and loss at limited loads."""


def prepare(data: Dataset, request: TableRequest) -> Prepared:
    """Make the look-up tables of every metric from a dataset's rows, with the errata of the published tables corrected.

    Raises
    ------
    DatasetError
        If the dataset lacks a requested option.
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
    missing = unmeasured_loss(data, request.protocols)
    made = Tables(compile_, tables, data.link(request.options), unmeasured_loss=missing)
    return Prepared(made, request, tuple(metrics), every)


def flow_tables(
    compile_: Compiler, best: Curves, unlimited: Curves, loss: Curves
) -> dict[str, MetricTable]:
    """Compile four tables: two of goodput, and two of loss.

    - goodput: the greatest over all loads (``best``), and that of senders at full speed (``unlimited``)
    - loss rate: at the unlimited load, and at limited loads
    """
    lost = with_loads(loss, lambda load: not is_limited(load))
    lost_limited = with_loads(loss, is_limited)
    return {
        BEST: compile_.table("goodput_bps", best),
        "goodput_bps": compile_.table("goodput_bps", unlimited),
        "loss_rate": compile_.table("loss_rate", lost),
        LIMITED_LOSS: compile_.table("loss_rate", lost_limited, below="nothing"),
    }


def without_switched(curves: Curves, protocol: str) -> Curves:
    """Drop a protocol's curves measured with a switch, if it has curves without a switch at the same core count.

    The remaining curves give the receiver's CPU time of UDP, so that a switch does not change this time.  In the thesis
    IC2012, a switch changes only the sender's CPU time (§7.1.3, §6.5.1.3; E7 in the list of errata).
    """
    direct = {key[:2] for key in curves if key.switches == 0}
    return {
        key: found
        for key, found in curves.items()
        if key.protocol != protocol or key.switches == 0 or key[:2] not in direct
    }


# --- E14: loads that a payload does not achieve ---------------------------------------------------


def achieved(best: Curves, key: Configuration) -> Curve | None:
    """Select the goodput curve that decides which loads a protocol achieves; ``None`` without a curve.

    A load is achieved at a payload if it does not exceed the goodput of the curve there.  The curve is chosen from the
    protocol's curves of best goodput: the curve with the fewest switches, and of several such curves the one with the
    most cores.
    """
    keys = [known for known in best if known.protocol == key.protocol]
    most = max(keys, key=lambda known: (-known.switches, known.cores or 0), default=None)
    return None if most is None else best[most][0]


def usable(compile_: Compiler, curves: Curves, best: Curves, key: Configuration) -> Bools | None:
    """Mark in which payload intervals each curve's offered load is achieved, as a mask (curves, payload intervals).

    Only curves of limited load are on the first axis, in ascending order of load.  A load is achieved in an interval if
    the best goodput at the interval's beginning reaches it.  If the best goodput is unknown, the result is ``None``,
    and each load counts as achieved.
    """
    reached = achieved(best, key)
    if reached is None:
        return None
    there = reached.value_at(left_knots(compile_.axes.knots))
    loads = sorted(curve.load_bps for curve in curves[key] if is_limited(curve.load_bps))
    return np.array([load <= OVERLOADED * there for load in loads], dtype=bool).reshape(
        len(loads), len(there)
    )


def hold_overloads(curves: Sequence[Curve], best: Curve | None) -> list[Curve]:
    """Replace points that were measured in overload; only curves of senders with a rate limit are changed.

    A curve has the points of one offered load, over the payload.  If the load is not achieved at a payload (overload),
    the point there gets the numbers of the curve of the next lower load, marked ``extrapolated``.  Otherwise
    interpolation between a payload without overload and a payload in overload would mix both states.  The curve of the
    lowest load stays unchanged.
    """
    if best is None:
        return list(curves)
    mended: list[Curve] = []
    limited = [curve for curve in curves if is_limited(curve.load_bps)]
    for curve in sorted(limited, key=lambda curve: curve.load_bps):
        payloads = curve.payload_bytes
        over = curve.load_bps > OVERLOADED * best.value_at(payloads)
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
    """Find the payloads [B] at which the best goodput of a protocol rises above or falls below an offered load.

    On one side of such a payload, the load is achieved, on the other it is not.  The result holds two whole numbers of
    bytes for each such payload: just below and just above it.
    """
    found: set[float] = set()
    for protocol in protocols:
        curve = achieved(best, Configuration(protocol, None, 0))
        if curve is None:
            continue
        x, y = curve.payload_bytes, curve.ends[VALUE]
        for load in loads / OVERLOADED:
            for k in np.flatnonzero(((y[:-1] - load) * (y[1:] - load) <= 0) & (y[:-1] != y[1:])):
                where = x[k] + (load - y[k]) / (y[k + 1] - y[k]) * (x[k + 1] - x[k])
                found.update((float(np.floor(where)), float(np.floor(where)) + 1))
    return tuple(sorted(found))


MULTIPLE = "theory * "
"""Prefix of the names of tables whose numbers are multiples of theory's packet rate."""
PACKETS, SENT, OF_SENDER = "packets_", "packets_sent", "_sent_"
"""Parts of metric names: prefix of all packet metrics, prefix of sent packets, and part of the sender's metrics."""


def multiples(tables: Tables, wanted: Collection[str]) -> tuple[str, ...]:
    """Select the wanted packet metrics that are tabulated as multiples of theory's number of packets."""
    return tuple(name for name in wanted if MULTIPLE + name in tables.metrics)


def packets_per_s(
    query: TableQuery, metrics: Sequence[str], flow: Flow, *, all_at_limit: bool = False
) -> Floats:
    """Compute packets per second [1/s] from look-up tables, which hold the ratio of measured to theoretical packets.

    The result is an array (metrics, ends, n); the axis ``ends`` holds value, low and high.

    If only the unlimited load was measured, the packets per frame of a smaller request are interpolated linearly over
    the ratio request / capacity.  At the ratio 0 they are those of a lone frame, and at 1 those of a saturated stream.
    If the wire has no time for so many packets, the stream is assumed to merge frames into fewer packets, as far as
    necessary.  The result is at most the number of packets that the wire carries per second.

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    metrics : sequence of str
        Names of the packet metrics.
    flow : Flow
        Goodput, loss and load of each stream.
    all_at_limit : bool
        Whether the tables hold only runs in overload, so that every stream is saturated.
    """
    if not metrics:
        return np.empty((0, query.ends, len(query.q)))
    known = np.logical_or.reduce([query.known(MULTIPLE + metric) for metric in metrics])
    if known.all():
        return _of_known(query, metrics, flow, all_at_limit)
    found = np.full((len(metrics), query.ends, len(query.q)), np.nan)
    there = np.flatnonzero(known)
    if len(there):
        part = _of_known(query.take(there), metrics, flow.take(there), all_at_limit)
        found[..., there] = part
    return found


def _of_known(query: TableQuery, metrics: Sequence[str], flow: Flow, all_at_limit: bool) -> Floats:
    """Compute packets per second, like :func:`packets_per_s`, for requests that all have a value in a table."""
    q, tables = query.q, [MULTIPLE + metric for metric in metrics]
    own, least, bits = q.frames.packets, q.frames.least_packets, 8 * q.payload_bytes
    # A lossy sender is limited only by its own capacity.  Any other sender is also limited by its share.
    saturated, not_achieved = flow.saturated[VALUE], flow.not_achieved[VALUE]
    load = query.load((q.lossy & saturated) | (~q.lossy & not_achieved))
    full = ~load.limited | all_at_limit
    at_limit = full | (query.top_load(tables) == 0)
    each = query.all(tables, load) * fast_where(at_limit, least, own)[:, None]
    each = _below_limit(query, each, at_limit & ~full, flow)
    each = fast_where(full, each, _within_theory(each, own, least))
    merged = least < own
    if merged.any():
        # Packets per frame for which the wire has time: from the count in full packets to the count of a lone frame.
        least_s = bits / q.frames.greatest_bps
        more_s = q.frames.wire_s - least_s
        left_s = bits / flow.goodput_bps[VALUE] - least_s
        part = fast_where(more_s > 0, left_s / more_s, 1.0)
        room = least + np.clip(part, 0.0, 1.0) * (own - least)
        crowded = (room < own) & (each > room)
        for end, packets in zip(range(query.ends), (room, least, room), strict=False):
            each[:, end] = fast_where(crowded[:, end], packets, each[:, end])
    # Rate of the frames whose packets are counted: the sent rate of a lossy sender, or the received goodput.
    arrives = flow.goodput_bps[VALUE]
    sends = np.minimum(q.requested_goodput_bps, flow.capacity_bps[VALUE])
    of_sender = fast_where(q.lossy, sends, arrives)
    flowing = [of_sender if metric.startswith(SENT) else arrives for metric in metrics]
    value = widened(query, tables, each * np.stack(flowing)[:, None] / bits)
    np.minimum(value, own / q.frames.wire_s, out=value, where=q.frames.wire_s > 0)
    # Counts from short measurements scatter, so limit the counts.  The received goodput needs at least its full
    # packets.  The requested frames have at most the packets of lone frames.
    value[:, VALUE] = np.minimum(value[:, VALUE], own * (q.requested_goodput_bps / bits))
    value[:, VALUE] = np.maximum(value[:, VALUE], least * (arrives / bits))
    if query.ends == 3:
        value[:, HIGH] = np.maximum(value[:, HIGH], value[:, VALUE])
    return value


def _below_limit(query: TableQuery, each: Floats, below: Bools, flow: Flow) -> Floats:
    """Correct packets per frame that were looked up at full speed (unlimited load), for requests with a finite rate.

    The corrected value is ``own - (own - each) * request / capacity``, where ``own`` is the packet count of a frame
    that is sent alone.  It is at most ``own``, since no packet is sent twice at such a load.  The high end of the
    interval is ``own``.  The low end is the low end of ``each`` if the stream merges frames, and otherwise ``own``.

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    each : array (metrics, ends, n)
        Packets per frame at full speed: value, low and high for each request.
    below : array of bool (metrics, n)
        Whether to correct: limited requests for which only runs at full speed were measured.
    flow : Flow
        Goodput, loss and load of each stream.
    """
    if not below.any():
        return each
    own, least = query.q.frames.packets, query.q.frames.least_packets
    share = np.minimum(query.q.requested_goodput_bps / flow.capacity_bps[VALUE], 1.0)
    ends = [own - share * np.maximum(own - each[:, VALUE], 0.0)]
    if query.ends == 3:
        ends.append(fast_where(least < own, np.fmin(each[:, LOW], own), own))
        ends.append(np.broadcast_to(own, ends[0].shape))
    return fast_where(below[:, None], np.stack(ends, axis=1), each)


def _within_theory(each: Floats, own: Floats, least: Floats) -> Floats:
    """Limit packets per frame, at loads below capacity, to the counts that theory allows.

    ``own`` is the greatest count: that of a lone frame.  ``least`` is the least count: that of a frame in a stream of
    full packets.  A measured count outside these limits is scatter.  So the value is moved to the limit, but the
    interval still contains the measured count.
    """
    merged = least < own
    ends = [np.clip(each[:, VALUE], least, own)]
    if each.shape[1] == 3:
        ends.append(fast_where(merged, each[:, LOW], np.minimum(each[:, LOW], own)))
        ends.append(fast_where(merged, each[:, HIGH], np.maximum(each[:, HIGH], own)))
    return np.stack(ends, axis=1)


# --- multiples in the rows ------------------------------------------------------------------------

Key = tuple[object, ...]
"""Key of a measured row: its protocol, payload, options and counts (cores, switches, endpoints), without its load."""


def as_multiples(data: Dataset, metric: str) -> Dataset | None:
    """Divide each measured packet rate [1/s] of a metric by theory's packet rate for the same run.

    Returns
    -------
    Dataset or None
        Dataset with multiples; ``None`` if a row has no payload, no load, or no goodput of the same run.
    """
    reached = _values(data, "goodput_bps")
    lost = {} if OF_SENDER in metric else _values(data, "loss_rate")
    points = list(data.points)
    for index, point in enumerate(points):
        if point.metric != metric:
            continue
        goodputs = reached.get(_key(point), {})
        if point.payload_bytes is None or point.load_bps is None or not goodputs:
            return None
        path = wire(data, point.protocol, data.options_of(point))
        payload = np.array([float(point.payload_bytes)])
        if point.load_bps <= OVERLOADED * max(goodputs.values()):  # frames share no packets
            arrives = 1 - lost.get(_key(point), {}).get(point.load_bps, 0.0)
            flowing, each = point.load_bps * arrives, path.packets(payload)
        else:  # full packets
            bound = float(path.goodput_bound_bps(payload, path.serialisation_s(payload))[0])
            unlimited = goodputs.get(math.inf, max(goodputs.values()))
            flowing, each = min(unlimited, bound), path.least_packets(payload)
        theory = float(each[0]) * flowing / 8 / point.payload_bytes
        if not theory > 0:
            return None
        spread = [
            None if number is None else number / theory
            for number in (point.std, point.low, point.high)
        ]
        points[index] = point._replace(
            value=point.value / theory, std=spread[0], low=spread[1], high=spread[2]
        )
    return replace(data, points=tuple(points))


def _values(data: Dataset, metric: str) -> dict[Key, dict[float | None, float]]:
    """Measured values of a metric, by row key (protocol, payload, options and counts) and then by load."""
    found: dict[Key, dict[float | None, float]] = {}
    for point in data.of_metric(metric):
        found.setdefault(_key(point), {})[point.load_bps] = point.value
    return found


def _key(point: Point) -> Key:
    counts = point.cores, point.switches, point.endpoints, point.other_goodput_bps
    return point.protocol, point.payload_bytes, point.options, *counts
