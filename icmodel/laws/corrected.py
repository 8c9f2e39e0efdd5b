"""Appendix H with its errata corrected: the same steps in the same order, each erratum at its step.

E1 to E19 are the rows of the background page on errata.  Steps that are equal to the original's are imported
from there.  Numbers are arrays of value, low and high, (ends, n) or (metrics, ends, n).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, if_else
from icmodel.dataset import Dataset
from icmodel.fits.regimes import achieved_shares
from icmodel.laws import appendix_h
from icmodel.laws.appendix_h import CpuTime, at_load, per_core
from icmodel.laws.bases import (
    ASSUMED,
    DERIVED,
    STATED,
    THEORY,
    UNLIMITED,
    Bases,
    Read,
    benchmark_and_share,
    cores_notes,
    curve_rules,
    not_achieved_note,
    sharing_notes,
    weakest,
    with_busy_cores,
)
from icmodel.laws.flow import (
    CLOSE,
    SHARED,
    Flow,
    add_path,
    cable_s,
    fair_share,
    is_one_way,
    least_s,
    receives_less,
    switches_s,
    traversals,
)
from icmodel.laws.law import (
    Law,
    Prepared,
    Wanted,
    any_cores,
    compiler,
    loads_of,
    of_protocols,
    rows_of,
)
from icmodel.laws.metrics import (
    BUSY,
    BY_FLOW,
    GROWING,
    ONE_PROCESS,
    busy_cores,
    demand_columns,
    frames_per_s,
    in_order,
    split,
    table_metrics,
    with_others,
)
from icmodel.laws.packets import MULTIPLE, PACKETS, as_multiples, multiples, packets_per_s
from icmodel.laws.substitution import own_rows, widened
from icmodel.scenario import Scenario
from icmodel.tables import (
    LOW,
    VALUE,
    Below,
    Compiler,
    Configuration,
    Curve,
    Curves,
    Load,
    Look,
    MetricTable,
    Row,
    Tables,
    opposite,
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


# --- Goodput --------------------------------------------------------------------------------------


def flow(look: Look) -> Flow:
    """The goodput: the least of the request, the stream's capacity, the wire's bound and the fair share."""
    q, request = look.q, look.q.request_bps
    found = look.all((BEST, "goodput_bps", ACHIEVED), look.unlimited)
    (best, unlimited), delivered = reached(look, found[:2]), found[2]
    unlimited_loss, achieved_loss = opposite(benchmarked_loss(look)), opposite(limited_loss(look))
    slack = best * (1 + CLOSE)
    saturated = (request > slack) | np.isinf(request)
    receiver_overloaded = request + q.others_bps > slack
    capacity = if_else(saturated, unlimited, best)
    receiver = if_else(receiver_overloaded, unlimited, best)
    able = unlimited / np.maximum(1 - unlimited_loss, CLOSE)
    share = fair_share(look, receiver, receiver_overloaded, unlimited_loss, able)
    sent, offered = sends(look, able, saturated, achieved_loss)
    goodput = np.minimum(offered, share)
    not_achieved = saturated | (share * (1 + CLOSE) < request)
    kept = if_else(saturated | (share < offered), 1.0, delivered)
    # A share just below what arrives is no surer than all of it; no window counts more than the wire.
    most = if_else(saturated, np.inf, offered * delivered)
    goodput = np.minimum(goodput * kept, np.minimum(most, q.frames.greatest_bps))
    sent = if_else(q.lossy, sent * kept, goodput)
    latency_load = cpu_load = look.load(opposite(not_achieved))
    if (saturated != not_achieved).any():
        cpu_load = look.load(opposite(saturated))  # E18: the stream's own limit, not its share
    return Flow(
        capacity_bps=capacity,
        share_bps=share,
        sent_bps=sent,
        goodput_bps=goodput,
        unlimited_loss=unlimited_loss,
        achieved_loss=achieved_loss,
        saturated=saturated,
        receiver_overloaded=receiver_overloaded,
        not_achieved=not_achieved,
        latency_load=latency_load,
        cpu_load=cpu_load,
    )


def sends(
    look: Look, able_bps: Floats, saturated: Bools, achieved_loss: Floats
) -> tuple[Floats, Floats]:
    """What a lossy sender sends, and what of any sender's request would arrive alone, (ends, n) [b/s].

    Where no protocol is lossy both are the request itself, (n,).  ``able_bps`` is what an unlimited sender sends.
    """
    q, request = look.q, look.q.request_bps
    if not q.lossy.any():
        return request, request
    # A wide interval of loss lets nobody send more than the line takes.
    ends = np.minimum(able_bps[LOW:], q.frames.greatest_bps)
    able = np.concatenate([able_bps[:1], ends])
    sent = if_else(saturated, np.minimum(request, able), request)
    arriving = if_else(saturated, sent, request * (1 - achieved_loss))
    return sent, if_else(q.lossy, arriving, request)


def reached(look: Look, benchmarked: Floats) -> Floats:
    """Benchmarked goodputs (tables, ends, n), limited to theory's bound [b/s]."""
    tables = [BEST] * len(benchmarked)
    found = widened(look, tables, benchmarked)
    return np.asarray(np.minimum(found, look.q.frames.greatest_bps))


# --- Latency --------------------------------------------------------------------------------------


def latency(look: Look, metrics: Sequence[str], flow: Flow) -> Floats:
    """As in the original, but at least theory's least time, and with the cable's propagation (E19)."""
    value = at_load(look, metrics, flow)
    value = widened(look, metrics, value, [rows_behind(metric) for metric in metrics])
    at_least = least_s(look)
    for metric, ends in zip(metrics, value, strict=True):
        if is_one_way(metric):
            np.maximum(ends, at_least, out=ends)
    add_path(value, metrics, switches_s(look, metrics) + cable_s(look))
    return value


def rows_behind(metric: str) -> str:
    """The table that holds a metric's core counts: frames per second use the goodput's."""
    return BEST if metric == "frames_per_s" else metric


# --- CPU utilization ------------------------------------------------------------------------------


def cpu(look: Look, metrics: Sequence[str], spent: Floats) -> Floats:
    """Processing time (metrics, ends, n) from the original's; of a single process at most the cores it may use."""
    value = widened(look, metrics, spent).copy()
    counted = look.q.cores_count  # 0 where the dataset does not state it
    one = np.flatnonzero([metric.endswith(ONE_PROCESS) for metric in metrics])
    value[one] = if_else(counted > 0, np.minimum(value[one], counted), value[one])
    return value


def utilisation(look: Look, utilisations: Sequence[str], demand: Floats) -> Floats:
    """Utilisation of the requested cores, at most 1 (E6), given the demand."""
    return np.minimum(widened(look, utilisations, demand), 1.0)


# --- Loss rate ------------------------------------------------------------------------------------


def benchmarked_loss(look: Look) -> Floats:
    """Loss of the unlimited benchmark, at most 1; 0 for TCP and where none was measured."""
    if not look.q.lossy.any():
        return np.zeros((look.ends, len(look.q)))
    found = look.all(["loss_rate"], look.unlimited)
    found = widened(look, [BEST], if_else(np.isnan(found), 0.0, found))[0]
    return np.asarray(np.minimum(found, 1.0) * look.q.lossy)


def limited_loss(look: Look) -> Floats:
    """Loss of an achieved request: the benchmarked one at that load, else 0 (E16)."""
    if not look.q.lossy.any():
        return np.zeros((look.ends, len(look.q)))
    found = look.all([LIMITED_LOSS], look.requested)
    found = widened(look, [BEST], if_else(np.isnan(found), 0.0, found))[0]
    return np.asarray(np.clip(found, 0.0, 1.0))


def loss(look: Look, flow: Flow) -> Floats:
    """1 − goodput / sent for protocols that lose frames, 0 for the others (E8)."""
    if not look.q.lossy.any():
        return np.zeros((look.ends, len(look.q)))
    achieved = flow.share_bps >= look.q.request_bps * (1 - flow.achieved_loss)
    arriving = 1 - flow.unlimited_loss  # where the low end of what is sent is 0
    np.divide(flow.goodput_bps, flow.sent_bps, out=arriving, where=flow.sent_bps != 0)
    dropped = np.clip(1 - arriving, 0.0, 1.0)
    found = if_else(achieved & ~flow.saturated, flow.achieved_loss, dropped)
    return opposite(found * look.q.lossy)


def loss_unknown(look: Look, flow: Flow) -> Bools:
    """Where the loss of sent frames is unknown, (n,)."""
    no_goodput = np.asarray(np.isnan(flow.goodput_bps[VALUE]))
    if not look.q.lossy.any():
        return no_goodput
    unsaid = ~(look.known("loss_rate") | look.known(LIMITED_LOSS))
    saturated = flow.saturated[VALUE]
    if saturated.any():
        unsaid |= saturated & np.isnan(look.values(["loss_rate"], look.unlimited)[0])
    return np.asarray((look.q.lossy & unsaid) | no_goodput)


def sent(look: Look, flow: Flow) -> Floats:
    """Goodput sent [b/s].

    Each end of the flow uses the loss that goes with its goodput: the more arrives, the less is lost.  For the most
    that a lossy sender can send, capacity / (1 − loss), that would give no interval: the errors of the two
    factors are independent, so their squares add up.
    """
    known = flow.saturated[VALUE] & look.q.lossy
    if look.ends == 1 or not known.any():
        return flow.sent_bps
    own, low, high = flow.capacity_bps
    arriving, arriving_low, arriving_high = np.maximum(1 - flow.unlimited_loss, CLOSE)
    able = own / arriving
    ends = [
        able / (1 + _together(own / low, arriving_high / arriving)),
        able * (1 + _together(high / own, arriving / arriving_low)),
    ]
    most = np.minimum(look.q.request_bps, look.q.frames.greatest_bps)
    told = [np.fmax(np.minimum(end, most), flow.goodput_bps[k]) for k, end in enumerate(ends, 1)]
    return np.concatenate([flow.sent_bps[:1], if_else(known, np.stack(told), flow.sent_bps[LOW:])])


def _together(one: Floats, other: Floats) -> Floats:
    """Combined excess over 1 of two independent factors."""
    return np.sqrt((one - 1) ** 2 + (other - 1) ** 2)


# --- All metrics, and what they rest on -----------------------------------------------------------


def answers(look: Look, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """The wanted metrics that have tables, each (ends, n); NaN where the tables have no value."""
    return composed(look, flow, wanted, appendix_h.cpu_time)


def composed(
    look: Look,
    flow: Flow,
    wanted: Collection[str],
    cpu_time: CpuTime,
    *,
    all_at_limit: bool = False,
) -> dict[str, Floats]:
    """The same with another rule for processing time, or for runs that are all at their limit."""
    request, needed = look.q.request_bps, with_others(wanted, look.tables.metrics)
    told_sent = sent(look, flow)
    short = np.maximum(request - opposite(told_sent), 0.0)
    short[:, np.isinf(request)] = 0.0
    of_loss = {"sent_bps": told_sent, "shortfall_bps": short, "loss_rate": loss(look, flow)}
    unknown = loss_unknown(look, flow)
    found = {name: if_else(unknown, np.nan, value) for name, value in of_loss.items()}
    found["goodput_bps"] = flow.goodput_bps
    latencies, busy, utilisations = split(table_metrics(look.tables), needed)
    found |= zip(latencies, latency(look, latencies, flow), strict=True)
    spent = appendix_h.cpu(look, (*busy, *utilisations), flow, cpu_time)
    found |= zip(busy, cpu(look, busy, spent[: len(busy)]), strict=True)
    cores_needed = per_core(look, utilisations, spent[len(busy) :])
    found |= busy_cores(look, utilisations, utilisation(look, utilisations, cores_needed))
    found |= demand_columns(utilisations, cores_needed)
    counted = multiples(look.tables, needed)
    found |= zip(
        counted, packets_per_s(look, counted, flow, all_at_limit=all_at_limit), strict=True
    )
    found["frames_per_s"] = frames_per_s(look, flow, found.get("frames_per_s"))
    return in_order(found)


def bases(look: Look, flow: Flow) -> Bases:
    """The look-ups and rules of each metric."""
    q, saturated, less = look.q, flow.saturated[VALUE], receives_less(look, flow)
    tables = {table.removeprefix(MULTIPLE): table for table in table_metrics(look.tables)}
    reads = {name: [Read(table, _load(name, flow))] for name, table in tables.items()}
    reached = _goodput_reads(look, flow, less)
    counted = [
        read._replace(where=np.isnan(flow.goodput_bps[VALUE]))
        for read in reads.get("frames_per_s", ())
    ]
    overload = Read("loss_rate", look.unlimited, q.lossy & saturated)
    limited = Read(LIMITED_LOSS, look.requested, q.lossy & ~saturated)
    reads["goodput_bps"], reads["frames_per_s"] = reached, [*reached, *counted]
    reads["sent_bps"] = reads["shortfall_bps"] = [*reached, overload]
    lossy = [
        read._replace(where=q.lossy if read.where is None else read.where & q.lossy)
        for read in reached
    ]
    reads["loss_rate"] = [*lossy, overload, limited]
    by_table, by_goodput = _table_rules(look, flow, tables)
    rules = dict(zip(tables, by_table, strict=True)) | _flow_rules(look, flow, less, by_goodput)
    return Bases(with_busy_cores(reads), with_busy_cores(rules))


def _load(metric: str, flow: Flow) -> Load:
    """The load at which a metric with a table of its own is looked up."""
    return flow.cpu_load if metric.startswith(BUSY) else flow.latency_load


def _goodput_reads(look: Look, flow: Flow, less: Bools) -> list[Read]:
    """The look-ups of the goodput; ``less`` tells where loss lowers it."""
    saturated = flow.saturated[VALUE]
    shared = [
        Read(table, look.unlimited, look.q.endpoints == int(table.removeprefix(SHARED)))
        for table in look.tables.metrics
        if table.startswith(SHARED)
    ]
    return [
        Read(BEST, look.unlimited, ~saturated),
        Read("goodput_bps", look.unlimited, saturated),
        Read("loss_rate", look.unlimited, less),
        *shared,
    ]


def _table_rules(look: Look, flow: Flow, tables: Mapping[str, str]) -> tuple[Codes, Codes]:
    """Weakest rules of metrics with tables of their own, (metrics, n), and of the goodput's table, (n,)."""
    found = curve_rules(look, [*tables.values(), BEST])
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)
    theory = crossing[:, None] & (look.q.extra_distance_m != 0)  # the cable beyond the rows' own
    one_way = [k for k, name in enumerate(tables) if is_one_way(name)]
    names = [name for name in tables if is_one_way(name)]
    theory[one_way] |= look.values(names, flow.latency_load) < least_s(look)
    return np.maximum(found[:-1], weakest((theory, THEORY))), found[-1]


def _flow_rules(look: Look, flow: Flow, less: Bools, by_goodput: Codes) -> dict[str, Codes]:
    """The weakest rule of each metric that follows from the flow, (n,)."""
    q, saturated = look.q, flow.saturated[VALUE]
    shared = (q.endpoints > 1) & ~np.isnan(flow.capacity_bps[VALUE])
    of_all = np.maximum(by_goodput, weakest((less, ASSUMED)))
    of_goodput = weakest((shared, DERIVED), (above_theory(look, flow), THEORY))
    by_flow = np.maximum(of_all, of_goodput)
    by_loss = np.maximum(of_all, weakest((~q.lossy, STATED)))
    if q.lossy.any():
        unsaid = ~saturated & np.isnan(look.values([LIMITED_LOSS], look.requested)[0])  # E16
        of_lossy = np.maximum(of_goodput, weakest((unsaid, ASSUMED)))
        by_loss = np.maximum(by_loss, if_else(q.lossy, of_lossy, 0))
    return dict.fromkeys((*BY_FLOW, "frames_per_s"), by_flow) | {"loss_rate": by_loss}


def above_theory(look: Look, flow: Flow) -> Bools:
    """Where the benchmarked goodput that answers exceeds theory's bound and is limited to it, (n,)."""
    bound = look.q.frames.greatest_bps
    at_bound = np.asarray(flow.capacity_bps[VALUE] >= bound)
    if not at_bound.any():
        return at_bound
    best, unlimited = look.values([BEST, "goodput_bps"], look.unlimited)
    return np.asarray(if_else(flow.saturated[VALUE], unlimited, best) > bound)


def bounds(look: Look, flow: Flow) -> dict[str, float]:
    """For a block of one question: the bounds whose least is the goodput [b/s].

    ``arriving`` is among them where sent frames are lost.
    """
    request, wire = float(look.q.request_bps[0]), float(look.q.frames.greatest_bps[0])
    found = {"request": request, "wire": wire, **benchmark_and_share(look, flow)}
    goodput = float(flow.goodput_bps[VALUE, 0])
    return found | {"arriving": goodput} if goodput < min(found.values()) else found


def notes(look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """For a block of one question: notes that a reader of this law's answer needs."""
    yield from sharing_notes(look, flow, asked)
    if above_theory(look, flow)[0]:
        yield "the benchmarked goodput lies above theory's bound and was clamped to it"
    yield from cores_notes(asked, needed)
    yield from not_achieved_note(flow, asked, UNLIMITED)


def law(data: Dataset, fitting: object = None) -> Law:
    """The law, the same for every dataset; it needs no fits."""
    return Law(prepare, BEST, flow, answers, bases, bounds, notes, own_rows)
