"""Variant `corrected`: the model in Appendix H of the thesis IC2012, with its errors (errata) corrected.

The steps of the calculation have the order of the thesis.  E1 to E19 are the errata (docs/background/errata.md).
Unchanged steps are imported from `appendix_h`.
Numbers are arrays (ends, n) or (metrics, ends, n); the `ends` axis holds value, low and high.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, fast_where
from icmodel.dataset import Dataset
from icmodel.laws import Law, appendix_h
from icmodel.laws.appendix_h import CpuTime, at_load, per_core
from icmodel.laws.corrected_tables import (
    BEST,
    LIMITED_LOSS,
    MULTIPLE,
    multiples,
    packets_per_s,
    prepare,
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
    loss_lowers_goodput,
    switches_s,
    traversals,
)
from icmodel.laws.metrics import (
    ASSUMED,
    BUSY,
    BY_FLOW,
    DERIVED,
    ONE_PROCESS,
    STATED,
    THEORY,
    UNLIMITED,
    Bases,
    Read,
    benchmark_and_share,
    busy_cores,
    cores_notes,
    curve_rules,
    demand_columns,
    frames_per_s,
    in_order,
    latency_note,
    sharing_notes,
    split,
    table_metrics,
    weakest,
    with_busy_cores,
    with_others,
)
from icmodel.laws.substitution import own_rows, widened
from icmodel.scenario import Scenario
from icmodel.tables import LOW, VALUE, TableQuery, opposite


def law(data: Dataset, fitting: object = None) -> Law:
    """Make the law (the set of functions) of the variant ``corrected`` for a dataset; it needs no fits."""
    return Law(
        rows=partial(own_rows, data),
        prepare=partial(prepare, data),
        goodput=BEST,
        flow=flow,
        answers=answers,
        bases=bases,
        bounds=bounds,
        notes=notes,
    )


# --- Goodput --------------------------------------------------------------------------------------


def flow(query: TableQuery) -> Flow:
    """Compute the goodput of each stream, its losses, and the loads at which other metrics are looked up.

    The goodput is the least of the request, the stream's capacity, the wire's bound and the fair share.  The result also
    has masks: whether the stream gets less than its request, whether the request exceeds the stream's own capacity, and
    whether all requests together exceed the capacity of the receiver.
    """
    q, request = query.q, query.q.requested_goodput_bps
    best, unlimited = reached(query, query.all((BEST, "goodput_bps"), query.unlimited))
    unlimited_loss, achieved_loss = opposite(benchmarked_loss(query)), opposite(limited_loss(query))
    slack = best * (1 + CLOSE)
    saturated = (request > slack) | np.isinf(request)
    receiver_overloaded = request + q.other_goodput_bps > slack
    capacity = fast_where(saturated, unlimited, best)
    receiver = fast_where(receiver_overloaded, unlimited, best)
    able = unlimited / np.maximum(1 - unlimited_loss, CLOSE) if q.lossy.any() else unlimited
    share = fair_share(query, receiver, receiver_overloaded, unlimited_loss, able)
    sent, offered = sent_and_received_rates(query, able, saturated, achieved_loss)
    goodput = np.minimum(offered, share)
    not_achieved = saturated | (share * (1 + CLOSE) < request)
    # The goodput never exceeds the wire's bound.
    goodput = np.minimum(goodput, q.frames.greatest_bps)
    sent = fast_where(q.lossy, sent, goodput) if q.lossy.any() else goodput
    latency_load = cpu_load = query.load(opposite(not_achieved))
    if (saturated != not_achieved).any():
        cpu_load = query.load(opposite(saturated))  # E18: the stream's own limit, not its share
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


def sent_and_received_rates(
    query: TableQuery, able_bps: Floats, saturated: Bools, achieved_loss: Floats
) -> tuple[Floats, Floats]:
    """Compute the rate at which each stream is sent, and the rate at which it arrives if no other stream competes.

    Both arrays are in b/s, (ends, n); the axis ``ends`` holds value, low and high.  If no protocol is lossy, both rates
    are the request, (n,).

    Parameters
    ----------
    query : TableQuery
        The requests, and their tables.
    able_bps : array
        Sent rate of an unlimited sender [b/s].
    saturated : array of bool
        Whether the request exceeds the capacity.
    achieved_loss : array
        Loss rate of a request that is achieved.
    """
    q, request = query.q, query.q.requested_goodput_bps
    if not q.lossy.any():
        return request, request
    # A wide interval of the loss could raise the sent rate above the wire's bound.
    ends = np.minimum(able_bps[LOW:], q.frames.greatest_bps)
    able = np.concatenate([able_bps[:1], ends])
    sent = fast_where(saturated, np.minimum(request, able), request)
    arriving = fast_where(saturated, sent, request * (1 - achieved_loss))
    return sent, fast_where(q.lossy, arriving, request)


def reached(query: TableQuery, benchmarked: Floats) -> Floats:
    """Limit looked-up goodputs [b/s] to the wire's bound, and widen intervals at unmeasured core counts.

    A goodput's interval is widened if its rows were measured at another core count than requested.  ``benchmarked`` is
    an array (tables, ends, n): one table for each looked-up goodput; value, low and high; n requests.
    """
    tables = [BEST] * len(benchmarked)
    found = widened(query, tables, benchmarked)
    return np.asarray(np.minimum(found, query.q.frames.greatest_bps))


# --- Latency --------------------------------------------------------------------------------------


def latency(query: TableQuery, metrics: Sequence[str], flow: Flow) -> Floats:
    """Compute latency as the variant `appendix_h` (the formulas printed in IC2012) does, with two corrections.

    A one-way latency is at least the theoretical time of a lone frame on wire and cable.  If the cable is longer than
    in the benchmark, the propagation delay of the added length is added (E19 in the list of errata of IC2012).
    """
    value = at_load(query, metrics, flow)
    value = widened(query, metrics, value)
    at_least = least_s(query)
    for metric, ends in zip(metrics, value, strict=True):
        if is_one_way(metric):
            np.maximum(ends, at_least, out=ends)
    add_path(value, metrics, switches_s(query, metrics) + cable_s(query))
    if query.ends == 3:
        # If the value is NaN, low and high become NaN too.  Then `in_order` does not move other statistics by them.
        np.copyto(value[:, LOW:], np.nan, where=np.isnan(value[:, :LOW]))
    return value


# --- CPU utilization ------------------------------------------------------------------------------


def cpu(query: TableQuery, metrics: Sequence[str], spent: Floats) -> Floats:
    """Widen the intervals of CPU times and busy cores, and return the array (metrics, ends, n).

    An interval is widened if the dataset has no goodput at the requested core count.  Metrics that count only the cores
    of the measuring process (``cpu_send_process_cores``, ``cpu_recv_process_cores``) are limited to the requested core
    count.  ``spent`` (metrics, ends, n) has the numbers of n requests: value, low and high on the axis ``ends``.
    """
    value = widened(query, metrics, spent).copy()
    counted = query.q.cores  # 0 if the dataset states none
    one = np.flatnonzero([metric.endswith(ONE_PROCESS) for metric in metrics])
    value[one] = fast_where(counted > 0, np.minimum(value[one], counted), value[one])
    return value


def utilisation(query: TableQuery, utilisations: Sequence[str], demand: Floats) -> Floats:
    """Utilisation of the requested cores: the demand of the stream, limited to 1.

    In the thesis IC2012, the result can exceed 1: erratum E6 in docs/background/errata.md.
    """
    return np.minimum(widened(query, utilisations, demand), 1.0)


# --- Loss rate ------------------------------------------------------------------------------------


def benchmarked_loss(query: TableQuery) -> Floats:
    """Look up the loss rate at unlimited load; 0 (assumed) if the dataset has no loss rate at this load.

    TCP resends lost packets, so its loss rate is 0.
    """
    if not query.q.lossy.any():
        return np.zeros((query.ends, len(query.q)))
    found = query.all(["loss_rate"], query.unlimited)
    found = widened(query, [BEST], fast_where(np.isnan(found), 0.0, found))[0]
    return np.asarray(np.minimum(found, 1.0) * query.q.lossy)


def limited_loss(query: TableQuery) -> Floats:
    """Look up the loss rate of a request below capacity (IC2012 erratum E16).

    If the dataset has no loss rate at the requested load, the protocol's rows at loads below capacity decide:

    - If they state a loss rate, the result is 0 (assumed).
    - If they state only goodputs, the loss is estimated as the part of the request that did not arrive; see
      `unmeasured_loss`.
    - If there are no such rows, the result is 0.
    """
    if not query.q.lossy.any():
        return np.zeros((query.ends, len(query.q)))
    read = query.all([LIMITED_LOSS], query.requested)
    found = widened(query, [BEST], fast_where(np.isnan(read), 0.0, read))[0]
    unmeasured = query.tables.unmeasured_loss[: query.ends].take(query.q.protocol, axis=1)
    found = fast_where(np.isnan(read[0]), unmeasured, found)
    return np.asarray(np.clip(found, 0.0, 1.0))


def loss(query: TableQuery, flow: Flow) -> Floats:
    """Compute the loss rate: 1 − goodput / sent rate for protocols that lose frames, 0 for other protocols.

    IC2012 divides by the request instead, so data that were never sent count as lost; erratum E8 corrects this.
    """
    if not query.q.lossy.any():
        return np.zeros((query.ends, len(query.q)))
    achieved = flow.share_bps >= query.q.requested_goodput_bps * (1 - flow.achieved_loss)
    arriving = 1 - flow.unlimited_loss  # used if the low of the sent rate is 0
    np.divide(flow.goodput_bps, flow.sent_bps, out=arriving, where=flow.sent_bps != 0)
    dropped = np.clip(1 - arriving, 0.0, 1.0)
    found = fast_where(achieved & ~flow.saturated, flow.achieved_loss, dropped)
    return opposite(found * query.q.lossy)


def loss_unknown(query: TableQuery, flow: Flow) -> Bools:
    """Mark the requests whose loss rate is unknown, as a boolean mask (n,).

    The loss rate is unknown if the goodput is unknown.  If the protocol is lossy, it is also unknown if the dataset has
    no measured loss for the request.  For a saturated stream (request above the capacity), only a loss measured at the
    unlimited load counts.
    """
    no_goodput = np.asarray(np.isnan(flow.goodput_bps[VALUE]))
    if not query.q.lossy.any():
        return no_goodput
    unknown = ~(query.known("loss_rate") | query.known(LIMITED_LOSS))
    saturated = flow.saturated[VALUE]
    if saturated.any():
        unknown |= saturated & np.isnan(query.values(["loss_rate"], query.unlimited)[0])
    return np.asarray((query.q.lossy & unknown) | no_goodput)


def sent(query: TableQuery, flow: Flow) -> Floats:
    """Compute the rate at which the sender sends [b/s]; a lossy sender sends more than arrives.

    The result is an array with two axes.  Axis 0: value, low, high, or only the value.  Axis 1: request.

    A saturated lossy sender sends capacity / (1 − loss).  The relative errors of both factors are independent, so the
    relative error of the sent rate is the root of the sum of their squares.
    """
    known = flow.saturated[VALUE] & query.q.lossy
    if query.ends == 1 or not known.any():
        return flow.sent_bps
    own, low, high = flow.capacity_bps
    arriving, arriving_low, arriving_high = np.maximum(1 - flow.unlimited_loss, CLOSE)
    able = own / arriving
    ends = [
        able / (1 + _combined(own / low, arriving_high / arriving)),
        able * (1 + _combined(high / own, arriving / arriving_low)),
    ]
    most = np.minimum(query.q.requested_goodput_bps, query.q.frames.greatest_bps)
    bounded = [np.fmax(np.minimum(end, most), flow.goodput_bps[k]) for k, end in enumerate(ends, 1)]
    return np.concatenate(
        [flow.sent_bps[:1], fast_where(known, np.stack(bounded), flow.sent_bps[LOW:])]
    )


def _combined(one: Floats, other: Floats) -> Floats:
    """Return the relative error √(e1² + e2²) of a product of two independent numbers, given 1 + e1 and 1 + e2."""
    return np.sqrt((one - 1) ** 2 + (other - 1) ** 2)


# --- All metrics, and their bases ------------------------------------------------------------------


def answers(query: TableQuery, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """Predict the wanted metrics that have tables: arrays (ends, n) by metric, NaN if a table has no value.

    The `ends` axis holds value, low and high; n is the number of requests.
    """
    return composed(query, flow, wanted, appendix_h.cpu_time)


def composed(
    query: TableQuery,
    flow: Flow,
    wanted: Collection[str],
    cpu_time: CpuTime,
    *,
    all_at_limit: bool = False,
) -> dict[str, Floats]:
    """Predict the wanted metrics with a given rule for processing times: arrays (ends, n) by metric.

    ``cpu_time`` is the rule: a function that looks up processing times at a load.  ``all_at_limit`` is true if all
    rows in the tables were measured in overload, with hosts at their limit.  The `ends` axis holds value, low and
    high; n is the number of requests.
    """
    needed = with_others(wanted, query.tables.metrics)
    found = by_loss(query, flow, wanted) | {"goodput_bps": flow.goodput_bps}
    latencies, busy, utilisations = split(table_metrics(query.tables), needed)
    found |= zip(latencies, latency(query, latencies, flow), strict=True)
    spent = appendix_h.cpu(query, (*busy, *utilisations), flow, cpu_time)
    found |= zip(busy, cpu(query, busy, spent[: len(busy)]), strict=True)
    cores_needed = per_core(query, utilisations, spent[len(busy) :])
    found |= busy_cores(query, utilisations, utilisation(query, utilisations, cores_needed))
    found |= demand_columns(utilisations, cores_needed)
    counted = multiples(query.tables, needed)
    found |= zip(
        counted, packets_per_s(query, counted, flow, all_at_limit=all_at_limit), strict=True
    )
    if "frames_per_s" in wanted:
        found["frames_per_s"] = frames_per_s(query, flow, found.get("frames_per_s"))
    return in_order(found)


def by_loss(query: TableQuery, flow: Flow, wanted: Collection[str]) -> dict[str, Floats]:
    """Predict the metrics that depend on loss, if they are wanted: sent rate, shortfall and loss rate.

    The result maps the name of a metric to an array (ends, n). The axis ``ends`` holds value, low and high. NaN if the
    loss is unknown.
    """
    found = dict[str, Floats]()
    if "sent_bps" in wanted or "shortfall_bps" in wanted:
        request, sent_bps = query.q.requested_goodput_bps, sent(query, flow)
        short = np.maximum(request - opposite(sent_bps), 0.0)
        np.copyto(short, 0.0, where=np.isinf(request))
        found = {"sent_bps": sent_bps, "shortfall_bps": short}
    if "loss_rate" in wanted:
        found["loss_rate"] = loss(query, flow)
    if not found or not (unknown := loss_unknown(query, flow)).any():
        return found
    return {name: fast_where(unknown, np.nan, value) for name, value in found.items()}


def bases(query: TableQuery, flow: Flow) -> Bases:
    """Collect the table look-ups and rules from which each metric is computed.

    Each of them has a basis (kind of evidence, such as ``measured``); the weakest is the basis of the metric.
    """
    tables = {table.removeprefix(MULTIPLE): table for table in table_metrics(query.tables)}
    less = loss_lowers_goodput(query, flow)
    reads = _reads_of(query, flow, tables, less)
    rules = _rules_of(query, flow, tables, less)
    return Bases(with_busy_cores(reads), with_busy_cores(rules))


def _reads_of(
    query: TableQuery, flow: Flow, tables: Mapping[str, str], less: Bools
) -> dict[str, list[Read]]:
    """List, for each metric, the table look-ups from which it is computed.

    ``tables`` maps each metric to the name of its table.  ``less`` (n,) marks the requests whose goodput is lower
    because an overloaded receiver loses frames: their goodput also needs the look-up of the loss rate.
    """
    lossy, saturated, unlimited = query.q.lossy, flow.saturated[VALUE], query.unlimited
    reads = {
        name: [Read(table, flow.cpu_load if name.startswith(BUSY) else flow.latency_load)]
        for name, table in tables.items()
    }
    goodput = [
        Read(BEST, unlimited, ~saturated),
        Read("goodput_bps", unlimited, saturated),
        Read("loss_rate", unlimited, less),
    ]
    for table in query.tables.metrics:
        if table.startswith(SHARED):
            here = query.q.endpoints == int(table.removeprefix(SHARED))
            goodput.append(Read(table, unlimited, here))
    no_goodput = np.isnan(flow.goodput_bps[VALUE])
    counted = [read._replace(where=no_goodput) for read in reads.get("frames_per_s", ())]
    overload = Read("loss_rate", unlimited, lossy & saturated)
    reads["goodput_bps"], reads["frames_per_s"] = goodput, [*goodput, *counted]
    reads["sent_bps"] = reads["shortfall_bps"] = [*goodput, overload]
    reads["loss_rate"] = [
        *(read._replace(where=read.where & lossy) for read in goodput if read.where is not None),
        overload,
        Read(LIMITED_LOSS, query.requested, lossy & ~saturated),
    ]
    return reads


def _rules_of(
    query: TableQuery, flow: Flow, tables: Mapping[str, str], less: Bools
) -> dict[str, Codes]:
    """Find the weakest basis (kind of evidence) of the rules that led to a metric, for each metric and request.

    A rule is a step of the computation with a basis of its own.  For example, the fair share of an interface has the
    basis ``derived``.  The result maps each metric to an array (n,) of indices into ``BASES``, one for each request.
    ``tables`` maps each metric with a look-up table to the table's name.  ``less`` marks the requests whose goodput is
    lower because an overloaded receiver loses frames.
    """
    q = query.q
    by_curve = curve_rules(query, [*tables.values(), BEST])
    crossing = np.array([traversals(name) > 0 for name in tables], dtype=bool)
    theory = crossing[:, None] & (query.extra_distance_m != 0)
    one_way = [k for k, name in enumerate(tables) if is_one_way(name)]
    names = [name for name in tables if is_one_way(name)]
    theory[one_way] |= query.values(names, flow.latency_load) < least_s(query)
    by_table = np.maximum(by_curve[:-1], weakest((theory, THEORY)))
    # Metrics that follow from the flow use the rules of the goodput table, of sharing and of loss.
    shared = (q.endpoints > 1) & ~np.isnan(flow.capacity_bps[VALUE])
    of_all = np.maximum(by_curve[-1], weakest((less, ASSUMED)))
    of_goodput = weakest((shared, DERIVED), (above_theory(query, flow), THEORY))
    by_flow = np.maximum(of_all, of_goodput)
    by_loss = np.maximum(of_all, weakest((~q.lossy, STATED)))
    if q.lossy.any():
        unknown = np.isnan(query.values([LIMITED_LOSS], query.requested)[0])
        of_lossy = weakest((~flow.saturated[VALUE] & unknown, ASSUMED))  # E16
        of_lossy = np.maximum(of_goodput, of_lossy)
        by_loss = np.maximum(by_loss, fast_where(q.lossy, of_lossy, 0))
    rules = dict(zip(tables, by_table, strict=True))
    measured = rules.get("frames_per_s", 0)
    rules |= dict.fromkeys(BY_FLOW, by_flow)
    rules["loss_rate"] = by_loss
    no_goodput = np.isnan(flow.goodput_bps[VALUE])
    rules["frames_per_s"] = np.maximum(by_flow, no_goodput * measured)
    return rules


def above_theory(query: TableQuery, flow: Flow) -> Bools:
    """Mark the requests whose benchmarked goodput exceeds theory's bound, as a mask (n,).

    The goodput of these requests is lowered to the bound.
    """
    bound = query.q.frames.greatest_bps
    at_bound = np.asarray(flow.capacity_bps[VALUE] >= bound)
    if not at_bound.any():
        return at_bound
    best, unlimited = query.values([BEST, "goodput_bps"], query.unlimited)
    return np.asarray(fast_where(flow.saturated[VALUE], unlimited, best) > bound)


def bounds(query: TableQuery, flow: Flow) -> dict[str, float]:
    """Upper bounds of the goodput [b/s] by name, for a single request; the goodput is the least bound.

    If sent frames are lost, the bounds include ``arriving``, the rate that arrives.
    """
    request, wire = float(query.q.requested_goodput_bps[0]), float(query.q.frames.greatest_bps[0])
    found = {"request": request, "wire": wire, **benchmark_and_share(query, flow)}
    goodput = float(flow.goodput_bps[VALUE, 0])
    return found | {"arriving": goodput} if goodput < min(found.values()) else found


def notes(
    query: TableQuery, flow: Flow, scenario: Scenario, needed: Mapping[str, float]
) -> Iterator[str]:
    """Write the notes that accompany the prediction of a single request."""
    yield from sharing_notes(query, flow, scenario)
    if above_theory(query, flow)[0]:
        yield "the benchmarked goodput is above theory's bound, so the prediction is clamped to the bound"
    yield from cores_notes(scenario, needed)
    yield from latency_note(query, flow, scenario, UNLIMITED)
