"""IC2012 Appendix H: the thesis' pseudo-code, followed to the letter wherever it can be executed.

The four functions have its order and its names; ``look`` is its ``interpolate``.  E1 to E19 are the decisions
on the background page about errata: where the printed code cannot be executed, or is kept although it is
wrong.  Numbers are arrays of value, low and high, (ends, n) or (metrics, ends, n); the low end of a result uses
those ends of its inputs that make it low.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from icmodel.arrays import Bools, Floats, if_else
from icmodel.dataset import Dataset, Point
from icmodel.laws.bases import (
    DERIVED,
    EXTRAPOLATED,
    STATED,
    UNLIMITED,
    Bases,
    Read,
    benchmark_and_share,
    curve_rules,
    not_achieved_note,
    weakest,
    with_busy_cores,
)
from icmodel.laws.flow import CLOSE, Flow, add_path, over_both, switches_s
from icmodel.laws.law import Law, Prepared, Wanted, any_cores, compiler, of_protocols, rows_of
from icmodel.laws.metrics import (
    BY_FLOW,
    GROWING,
    busy_cores,
    demand_columns,
    frames_per_s,
    split,
    table_metrics,
)
from icmodel.laws.substitution import other_cores, own_rows
from icmodel.scenario import Scenario
from icmodel.tables import HIGH, VALUE, Below, Load, Look, Tables, opposite
from icmodel.tables.curves import alone, best_goodput, curves_of, is_limited, with_loads
from icmodel.tables.left_out import misses


def prepare(wanted: Wanted) -> Prepared:
    """Tables of every metric through the rows as they are.

    Raises
    ------
    DatasetError
        If the dataset does not have an option.
    """
    data = wanted.data
    every = [row for row in rows_of(data, wanted.options) if _in_original(data, row.point)]
    rows = alone(of_protocols(every, wanted.protocols))
    compile_ = compiler(wanted, every)
    metrics = wanted.metrics(rows)
    unlimited_loss = with_loads(
        curves_of(data, rows, "loss_rate"), lambda load: not is_limited(load)
    )
    goodput = best_goodput(data, rows, misses(data, "goodput_bps"), limited=False)
    tables = {
        "goodput_bps": compile_.table("goodput_bps", goodput),
        "loss_rate": compile_.table("loss_rate", unlimited_loss),
    }
    for metric in metrics:
        below: Below = "proportion" if metric.startswith(GROWING) else "held"
        curves = curves_of(data, rows, metric)
        tables[metric] = compile_.table(metric, curves, any_cores=any_cores(metric), below=below)
    made = Tables(compile_, tables, data.link(wanted.options))
    return Prepared(made, wanted, tuple(metrics), every)


def _in_original(data: Dataset, point: Point) -> bool:
    """Whether the original reads a row: if its list of payloads is known, only at these."""
    payloads = data.variants.get("appendix-h", {}).get("payload_bytes")
    if not isinstance(payloads, list) or point.payload_bytes is None:
        return True
    return point.payload_bytes in payloads


CpuTime = Callable[[Look, Sequence[str], Load, Flow], Floats]

# --- Goodput --------------------------------------------------------------------------------------


def flow(look: Look) -> Flow:
    """The achieved goodput: the limited one, or the endpoint's share of the interpolated one."""
    q = look.q
    # benchmarked_goodputs are those of the protocol at number_of_CPUs: look chooses them.
    interpolated_goodput = look("goodput_bps", look.unlimited)
    limited_goodput = np.minimum(q.request_bps, interpolated_goodput)  # E1
    endpoint_goodput = np.maximum(
        interpolated_goodput - q.others_bps, interpolated_goodput / q.endpoints
    )  # E2, E3
    fits = (q.endpoints == 1) | (limited_goodput + q.others_bps < interpolated_goodput)
    achieved = if_else(fits, limited_goodput, endpoint_goodput)  # E13
    saturated = (q.request_bps > interpolated_goodput * (1 + CLOSE)) | np.isinf(q.request_bps)
    not_achieved = saturated | (q.request_bps > achieved * (1 + CLOSE))
    load = look.load(opposite(not_achieved))  # E4: "unlimited" where the request is not achieved
    return Flow(
        capacity_bps=interpolated_goodput,
        share_bps=endpoint_goodput,
        sent_bps=limited_goodput,
        goodput_bps=achieved,
        unlimited_loss=opposite(benchmarked_loss(look)),
        achieved_loss=np.zeros_like(achieved),
        saturated=saturated,
        receiver_overloaded=saturated,
        not_achieved=not_achieved,
        latency_load=load,
        cpu_load=load,  # E18
    )


# --- Latency --------------------------------------------------------------------------------------


def at_load(look: Look, metrics: Sequence[str], flow: Flow) -> Floats:
    """Metrics at the achieved load, or at the unlimited one."""
    return over_both(look, flow.latency_load, flow, lambda here, load, _: here.all(metrics, load))


def latency(look: Look, metrics: Sequence[str], flow: Flow) -> Floats:
    """Latency, its standard deviation and other metrics of the achieved load (§7.1.2)."""
    value = at_load(look, metrics, flow)  # E4, E12
    add_path(value, metrics, switches_s(look, metrics))  # E5
    return value


# --- CPU utilization ------------------------------------------------------------------------------


def cpu_time(look: Look, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
    """Processing time at the measured core count; below the lowest load in proportion to the load (E15).

    Where only the unlimited load was measured, an achieved request takes its proportion of it.  Above
    the highest load with a curve, the upper end is that of the unlimited curve: the processing time of an
    achievable load may be anything between the two.
    """
    value, top_load = look.all(metrics, load), look.top_load(metrics)
    request = look.q.request_bps
    if look.ends == 3:
        held = load.limited[-1] & (request > top_load) & (top_load > 0)
        if held.any():
            most = look.unlimited_highs(metrics)
            np.fmax(value[:, HIGH], most, out=value[:, HIGH], where=held)
    of_unlimited = (top_load == 0)[:, None] & load.limited[:HIGH]
    if of_unlimited.any():
        proportion = np.minimum(request / flow.capacity_bps[VALUE], 1.0)
        value[:, :HIGH] *= if_else(of_unlimited, proportion, 1.0)
    return value


def cpu(look: Look, metrics: Sequence[str], flow: Flow, time: CpuTime = cpu_time) -> Floats:
    """Processing time at the achieved load, or at the unlimited one (E12)."""
    return over_both(
        look, flow.cpu_load, flow, lambda here, load, flow: time(here, metrics, load, flow)
    )


def per_core(look: Look, utilisations: Sequence[str], value: Floats) -> Floats:
    """Utilisation that a stream needs of the requested cores, from that of the measured ones: ``cpu/(cores/4)``.

    It is not limited to 1 (E6).
    """
    value = value * look.core_ratio(utilisations)[:, None]
    if look.tables.extend and look.tables.axes.cores:  # a count beyond the measured ones
        nearest = np.array(look.tables.axes.cores, dtype=float).take(look.q.cores)
        said = (look.q.cores_count > 0) & (look.cores(utilisations) > 0)
        value *= if_else(said, nearest / look.q.cores_count, 1.0)[:, None]
    return value


# --- Loss rate ------------------------------------------------------------------------------------


def benchmarked_loss(look: Look) -> Floats:
    """Loss of the unlimited benchmark; 0 for TCP and where none was measured."""
    interpolated_loss = look("loss_rate", look.unlimited)
    return if_else(np.isnan(interpolated_loss), 0.0, interpolated_loss) * look.q.lossy


def loss(look: Look, flow: Flow) -> Floats:
    """The table's loss times the endpoints, or the part of the request that is not achieved (E8, E9)."""
    request = look.q.request_bps
    interpolated_loss = opposite(flow.unlimited_loss) * look.q.endpoints
    achieved = if_else(np.isinf(request), 0.0, opposite(flow.goodput_bps) / request)
    limited_loss = np.maximum(interpolated_loss, 1 - achieved)
    return np.asarray(np.clip(limited_loss, 0.0, 1.0))


def loss_unknown(look: Look, flow: Flow) -> Bools:
    """Where the loss is unknown, (n,): never measured there, or direct Ethernet (E10)."""
    direct = np.array([name == "ethernet" for name in look.tables.axes.protocols])
    missing = np.isnan(look.values(["loss_rate"], look.unlimited)[0])
    hidden = direct.take(look.q.protocol) | np.isnan(flow.goodput_bps[VALUE])
    return np.asarray((look.q.lossy & missing) | hidden)


# --- All metrics, and what they rest on -----------------------------------------------------------


def answers(look: Look, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """The wanted metrics that have tables, each (ends, n); NaN where the tables have no value."""
    request = look.q.request_bps
    short = np.maximum(request - opposite(flow.sent_bps), 0.0)
    short[:, np.isinf(request)] = 0.0
    of_loss = {"sent_bps": flow.sent_bps, "shortfall_bps": short, "loss_rate": loss(look, flow)}
    unknown = loss_unknown(look, flow)
    found = {name: if_else(unknown, np.nan, value) for name, value in of_loss.items()}
    found["goodput_bps"] = flow.goodput_bps
    latencies, busy, utilisations = split(table_metrics(look.tables), wanted)
    found |= dict(zip(latencies, latency(look, latencies, flow), strict=True))
    spent = cpu(look, (*busy, *utilisations), flow)
    found |= dict(zip(busy, spent[: len(busy)], strict=True))
    needed = per_core(look, utilisations, spent[len(busy) :])
    found |= busy_cores(look, utilisations, needed) | demand_columns(utilisations, needed)
    found["frames_per_s"] = frames_per_s(look, flow, found.get("frames_per_s"))
    return found


def bases(look: Look, flow: Flow) -> Bases:
    """The look-ups and rules of each metric."""
    q, own = look.q, table_metrics(look.tables)
    reached = [Read("goodput_bps", look.unlimited)]
    reads: dict[str, list[Read]] = {name: [Read(name, flow.latency_load)] for name in own}
    counted = [Read("frames_per_s", flow.latency_load, np.isnan(flow.goodput_bps[VALUE]))]
    reads |= dict.fromkeys(BY_FLOW, reached)
    reads["loss_rate"] = [*reached, Read("loss_rate", look.unlimited, q.lossy)]
    reads["frames_per_s"] = [*reached, *(counted if "frames_per_s" in own else ())]
    shared = (q.endpoints > 1) & ~np.isnan(flow.capacity_bps[VALUE])
    cores = other_cores(look, ["goodput_bps"])[0]
    by_flow = weakest((shared, DERIVED), (cores, EXTRAPOLATED))
    rules = dict(zip(own, curve_rules(look, own), strict=True))
    rules |= dict.fromkeys((*BY_FLOW, "frames_per_s"), by_flow)
    rules["loss_rate"] = np.maximum(by_flow, weakest((~q.lossy, STATED)))
    return Bases(with_busy_cores(reads), with_busy_cores(rules))


def bounds(look: Look, flow: Flow) -> dict[str, float]:
    """For a block of one question: the bounds whose least is the goodput [b/s].

    The wire's bound is not among them, and the share may exceed the request (E2).
    """
    return {"request": float(look.q.request_bps[0]), **benchmark_and_share(look, flow)}


def notes(look: Look, flow: Flow, asked: Scenario, needed: Mapping[str, float]) -> Iterator[str]:
    """For a block of one question: notes that a reader of this law's answer needs."""
    if asked.distance_m is not None:
        yield "appendix-h has no distance term: the distance changes nothing (E19)"
    yield from not_achieved_note(flow, asked, UNLIMITED)


def law(data: Dataset, fitting: object = None) -> Law:
    """The law, the same for every dataset; it needs no fits."""
    return Law(
        prepare,
        "goodput_bps",
        flow,
        answers,
        bases,
        bounds,
        notes,
        own_rows,
        adds_cable=False,
    )
