"""IC2012 Appendix H: the pseudo-code of the thesis, to the letter wherever it can be executed.

The four functions of the pseudo-code keep their order and names.  ``query`` is ``interpolate`` in the pseudo-code.
E1 to E19 are its errata (docs/background/errata.md).  An erratum is printed code that is wrong or cannot be executed.
This module corrects only code that cannot be executed.

Numbers are arrays (ends, n) or (metrics, ends, n); the `ends` axis holds value, low and high.  The low of a result is
computed from the low or the high of each input, whichever makes the result lower.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Floats, fast_where
from icmodel.dataset import Dataset
from icmodel.laws import Law, Prepared, TableRequest, any_cores, compiler, of_protocols
from icmodel.laws.flow import CLOSE, Flow, add_path, switches_s, widen_to_both_regimes
from icmodel.laws.metrics import (
    BY_FLOW,
    DERIVED,
    EXTRAPOLATED,
    GROWING,
    STATED,
    UNLIMITED,
    Bases,
    Read,
    benchmark_and_share,
    busy_cores,
    curve_rules,
    demand_columns,
    frames_per_s,
    latency_note,
    split,
    table_metrics,
    weakest,
    with_busy_cores,
)
from icmodel.laws.substitution import other_cores, own_rows, with_places
from icmodel.scenario import Scenario
from icmodel.tables import HIGH, VALUE, Below, Load, TableQuery, Tables, opposite
from icmodel.tables.curves import alone, best_goodput, curves_of, is_limited, with_loads
from icmodel.tables.left_out import interpolation_errors


def law(data: Dataset, fitting: object = None) -> Law:
    """Make the law (the set of functions) of the variant ``appendix-h`` for a dataset; it needs no fits."""
    return Law(
        rows=partial(own_rows, data),
        prepare=partial(prepare, data),
        goodput="goodput_bps",
        flow=flow,
        answers=answers,
        bases=bases,
        bounds=bounds,
        notes=notes,
        adds_cable=False,
    )


def prepare(data: Dataset, request: TableRequest) -> Prepared:
    """Make the look-up tables of every metric from the dataset's unchanged rows.

    The original program of the thesis IC2012 reads only some payloads.  If the dataset lists them, only rows at these
    payloads are used.

    Raises
    ------
    DatasetError
        If the request states an option, or a value of an option, that the dataset does not have.
    """
    found = {name: own_rows(data, name, request.options) for name in data.protocols}
    payloads = data.variants.get("appendix-h", {}).get("payload_bytes")
    listed = payloads if isinstance(payloads, list) else None
    every = [
        row
        for row in with_places(data, found)
        if listed is None or row.point.payload_bytes in (None, *listed)
    ]
    rows = alone(of_protocols(every, request.protocols))
    compile_ = compiler(data, request, every)
    metrics = request.metrics(rows)
    unlimited_loss = with_loads(
        curves_of(data, rows, "loss_rate"), lambda load: not is_limited(load)
    )
    goodput = best_goodput(data, rows, interpolation_errors(data, "goodput_bps"), limited=False)
    tables = {
        "goodput_bps": compile_.table("goodput_bps", goodput),
        "loss_rate": compile_.table("loss_rate", unlimited_loss),
    }
    for metric in metrics:
        below: Below = "proportion" if metric.startswith(GROWING) else "held"
        curves = curves_of(data, rows, metric)
        tables[metric] = compile_.table(metric, curves, any_cores=any_cores(metric), below=below)
    made = Tables(compile_, tables, data.link(request.options))
    return Prepared(made, request, tuple(metrics), every)


CpuTime = Callable[[TableQuery, Sequence[str], Load, Flow], Floats]

# --- Goodput --------------------------------------------------------------------------------------


def flow(query: TableQuery) -> Flow:
    """Compute the achieved goodput of each stream, and the load at which its latency and CPU time are looked up.

    All senders share the goodput B, interpolated at unlimited load.  A lone sender achieves its request, at most B.
    Several senders achieve their requests if the sum is below B.  Otherwise each gets the share max(B − sum of the
    other requests, B / number of senders).  The load is the request, or unlimited if the request is not achieved.
    """
    q = query.q
    # The query looks up the pseudo-code's benchmarked_goodputs at the protocol and number_of_CPUs.
    interpolated_goodput = query("goodput_bps", query.unlimited)
    limited_goodput = np.minimum(q.requested_goodput_bps, interpolated_goodput)  # E1
    endpoint_goodput = np.maximum(
        interpolated_goodput - q.other_goodput_bps, interpolated_goodput / q.endpoints
    )  # E2, E3
    fits = (q.endpoints == 1) | (limited_goodput + q.other_goodput_bps < interpolated_goodput)
    achieved = fast_where(fits, limited_goodput, endpoint_goodput)  # E13
    saturated = (q.requested_goodput_bps > interpolated_goodput * (1 + CLOSE)) | np.isinf(
        q.requested_goodput_bps
    )
    not_achieved = saturated | (q.requested_goodput_bps > achieved * (1 + CLOSE))
    load = query.load(opposite(not_achieved))  # E4: "unlimited" where the request is not achieved
    return Flow(
        capacity_bps=interpolated_goodput,
        share_bps=endpoint_goodput,
        sent_bps=limited_goodput,
        goodput_bps=achieved,
        unlimited_loss=opposite(benchmarked_loss(query)),
        achieved_loss=np.zeros_like(achieved),
        saturated=saturated,
        receiver_overloaded=saturated,
        not_achieved=not_achieved,
        latency_load=load,
        cpu_load=load,  # E18
    )


# --- Latency --------------------------------------------------------------------------------------


def at_load(query: TableQuery, metrics: Sequence[str], flow: Flow) -> Floats:
    """Look up metrics at the requested load, or at the unlimited load if the stream does not achieve the request."""
    growing = [k for k, metric in enumerate(metrics) if metric.startswith(GROWING)]
    names = [metrics[k] for k in growing]

    def look_up(query: TableQuery, load: Load, _: Flow) -> Floats:
        value = query.all(metrics, load)
        if growing:
            grown = value[growing]
            up_to_unlimited(query, names, grown, query.top_load(names), load)
            value[growing] = grown
        return value

    return widen_to_both_regimes(query, flow.latency_load, flow, look_up)


def latency(query: TableQuery, metrics: Sequence[str], flow: Flow) -> Floats:
    """Look up latency, its standard deviation and other metrics, and add the delay of switches (IC2012 §7.1.2).

    The look-up is at the requested load, or at the unlimited load if the stream does not achieve its request.
    """
    value = at_load(query, metrics, flow)  # E4, E12
    add_path(value, metrics, switches_s(query, metrics))  # E5
    return value


# --- CPU utilization ------------------------------------------------------------------------------


def cpu_time(query: TableQuery, metrics: Sequence[str], load: Load, flow: Flow) -> Floats:
    """Compute the processing time of the host's cores at the measured core count.

    Below the lowest measured load, IC2012 has no rule (erratum E15), and the processing time is taken as proportional
    to the load.  If only the unlimited load was measured, every achieved request lies below the lowest measured load.
    """
    value, top_load = query.all(metrics, load), query.top_load(metrics)
    up_to_unlimited(query, metrics, value, top_load, load)
    below_unlimited(query, value, top_load, load, flow)
    return value


def up_to_unlimited(
    query: TableQuery, metrics: Sequence[str], value: Floats, top_load: Floats, load: Load
) -> None:
    """Raise the high of metrics that grow with the load, in place, for requests above the highest limited load.

    For such a request, the true number lies between two measured numbers: that at the highest limited load, and that at
    the unlimited load.  IC2012 has no rule for these loads (erratum E15).  So the value stays the number at the highest
    limited load, and the high is raised to the high of the number at the unlimited load, if that is greater.
    """
    if query.ends == 1:
        return
    request = query.q.requested_goodput_bps
    held = load.limited[-1] & (request > top_load) & (top_load > 0)
    if held.any():
        most = query.unlimited_highs(metrics)
        np.fmax(value[:, HIGH], most, out=value[:, HIGH], where=held)


def below_unlimited(
    query: TableQuery, value: Floats, top_load: Floats, load: Load, flow: Flow
) -> None:
    """Scale processing times, in place, for metrics that were measured only at the unlimited load.

    The array ``value`` holds the processing times at the unlimited load.  Axis 0: metric.  Axis 1: value, low, high.
    Axis 2: request.  At a lower load, the processing time is assumed to be proportional to the load.  So if a request is
    achieved, value and low are multiplied by requested load / capacity.  The high is not scaled, so it remains an upper
    limit even if the assumption is wrong.
    """
    scaled = (top_load == 0)[:, None] & load.limited[:HIGH]
    if not scaled.any():
        return
    there = np.flatnonzero(scaled.any(axis=(0, 1)))  # usually a few requests
    request, capacity = query.q.requested_goodput_bps[there], flow.capacity_bps[VALUE, there]
    proportion = np.minimum(request / capacity, 1.0)
    value[:, :HIGH, there] *= fast_where(scaled[..., there], proportion, 1.0)


def cpu(query: TableQuery, metrics: Sequence[str], flow: Flow, time: CpuTime = cpu_time) -> Floats:
    """Compute the processing time of the host's cores at the achieved load.

    If the request is not achieved, the processing time at the unlimited load is used.  In the pseudo-code of the thesis
    IC2012, the processing time is the same at all loads, which is an error (E12 in docs/background/errata.md).
    """
    return widen_to_both_regimes(
        query, flow.cpu_load, flow, lambda here, load, flow: time(here, metrics, load, flow)
    )


def per_core(query: TableQuery, utilisations: Sequence[str], value: Floats) -> Floats:
    """Scale utilisations to the requested number of cores: utilisation × measured cores / requested cores.

    The pseudo-code of IC2012 appendix H writes ``cpu/(cores/4)``, since its tables were measured with four cores.  The
    result is the utilisation that the stream needs.  As in the pseudo-code, it may exceed 1 (erratum E6).
    """
    value = value * query.core_ratio(utilisations)[:, None]
    if query.tables.extend and query.tables.axes.cores:  # for a core count that was not measured
        nearest = np.array(query.tables.axes.cores, dtype=float).take(query.q.core_index)
        stated = (query.q.cores > 0) & (query.cores(utilisations) > 0)
        value *= fast_where(stated, nearest / query.q.cores, 1.0)[:, None]
    return value


# --- Loss rate ------------------------------------------------------------------------------------


def benchmarked_loss(query: TableQuery) -> Floats:
    """Look up the loss rate at unlimited load.

    It is 0 for TCP, which repeats lost data.  A loss rate that the dataset does not have also counts as 0.
    """
    interpolated_loss = query("loss_rate", query.unlimited)
    return fast_where(np.isnan(interpolated_loss), 0.0, interpolated_loss) * query.q.lossy


def loss(query: TableQuery, flow: Flow) -> Floats:
    """Compute the loss rate as the greater of two estimates, as in the pseudo-code of IC2012 appendix H.

    The first estimate is the tabulated loss times the number of endpoints.  The second estimate is the part of the
    request that the stream does not achieve, divided by the request.  Both are too high in some cases (errata E9 and
    E8); this variant keeps them.
    """
    request = query.q.requested_goodput_bps
    interpolated_loss = opposite(flow.unlimited_loss) * query.q.endpoints
    achieved = fast_where(np.isinf(request), 0.0, opposite(flow.goodput_bps) / request)
    limited_loss = np.maximum(interpolated_loss, 1 - achieved)
    return np.asarray(np.clip(limited_loss, 0.0, 1.0))


def loss_unknown(query: TableQuery, flow: Flow) -> Bools:
    """Mark the requests whose loss rate is unknown, as a boolean mask (n,).

    The loss rate is unknown in three cases: the goodput is unknown; the loss of a lossy protocol was never measured; or
    the protocol is ``ethernet``, raw Ethernet frames (erratum E10 of the thesis IC2012).
    """
    direct = np.array([name == "ethernet" for name in query.tables.axes.protocols])
    missing = np.isnan(query.values(["loss_rate"], query.unlimited)[0])
    hidden = direct.take(query.q.protocol) | np.isnan(flow.goodput_bps[VALUE])
    return np.asarray((query.q.lossy & missing) | hidden)


# --- All metrics, and their bases ------------------------------------------------------------------


def answers(query: TableQuery, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """Predict the wanted metrics that have tables: arrays (ends, n) by metric, NaN if a table has no value.

    The `ends` axis holds value, low and high; n is the number of requests.
    """
    request = query.q.requested_goodput_bps
    short = np.maximum(request - opposite(flow.sent_bps), 0.0)
    short[:, np.isinf(request)] = 0.0
    of_loss = {"sent_bps": flow.sent_bps, "shortfall_bps": short, "loss_rate": loss(query, flow)}
    unknown = loss_unknown(query, flow)
    found = {name: fast_where(unknown, np.nan, value) for name, value in of_loss.items()}
    found["goodput_bps"] = flow.goodput_bps
    latencies, busy, utilisations = split(table_metrics(query.tables), wanted)
    found |= dict(zip(latencies, latency(query, latencies, flow), strict=True))
    spent = cpu(query, (*busy, *utilisations), flow)
    found |= dict(zip(busy, spent[: len(busy)], strict=True))
    needed = per_core(query, utilisations, spent[len(busy) :])
    found |= busy_cores(query, utilisations, needed) | demand_columns(utilisations, needed)
    found["frames_per_s"] = frames_per_s(query, flow, found.get("frames_per_s"))
    return found


def bases(query: TableQuery, flow: Flow) -> Bases:
    """Collect the table look-ups and rules from which each metric is computed.

    Each of them has a basis (kind of evidence, such as ``measured``); the weakest is the basis of the metric.
    """
    q, own = query.q, table_metrics(query.tables)
    reached = [Read("goodput_bps", query.unlimited)]
    reads: dict[str, list[Read]] = {name: [Read(name, flow.latency_load)] for name in own}
    no_goodput = np.isnan(flow.goodput_bps[VALUE])
    counted = [Read("frames_per_s", flow.latency_load, no_goodput)]
    reads |= dict.fromkeys(BY_FLOW, reached)
    reads["loss_rate"] = [*reached, Read("loss_rate", query.unlimited, q.lossy)]
    reads["frames_per_s"] = [*reached, *(counted if "frames_per_s" in own else ())]
    shared = (q.endpoints > 1) & ~np.isnan(flow.capacity_bps[VALUE])
    cores = other_cores(query, ["goodput_bps"])[0]
    by_flow = weakest((shared, DERIVED), (cores, EXTRAPOLATED))
    rules = dict(zip(own, curve_rules(query, own), strict=True))
    measured = rules.get("frames_per_s", 0)
    rules |= dict.fromkeys(BY_FLOW, by_flow)
    rules["frames_per_s"] = np.maximum(by_flow, no_goodput * measured)
    rules["loss_rate"] = np.maximum(by_flow, weakest((~q.lossy, STATED)))
    return Bases(with_busy_cores(reads), with_busy_cores(rules))


def bounds(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Upper bounds of the goodput [b/s] by name, for a single request: ``request``, ``benchmark`` and ``share``.

    ``benchmark`` is the greatest goodput of the stream without other streams.  ``share`` is the stream's part of the
    goodput that the receiver accepts from all senders; it is missing if there are no other senders.  The goodput is the
    least bound, with one exception: if all senders together request more than the receiver accepts, the goodput is
    ``share``, even if ``share`` exceeds ``request``.  This is an error of the pseudo-code in IC2012 appendix H (erratum
    E2), which this variant keeps.  As in the pseudo-code, the wire sets no bound.
    """
    return {"request": float(query.q.requested_goodput_bps[0]), **benchmark_and_share(query, flow)}


def notes(
    query: TableQuery, flow: Flow, scenario: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """Write the notes that accompany the prediction of a single request."""
    if scenario.distance_m is not None:
        yield "appendix-h has no distance term, so the distance has no effect (erratum E19)"
    yield from latency_note(query, flow, scenario, UNLIMITED)
