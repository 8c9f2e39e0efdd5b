"""Answer a block of questions, given as arrays, from look-up tables by the rules (law) of a model variant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats, fast_where
from icmodel.dataset import Dataset
from icmodel.estimate import BOTTLENECKS
from icmodel.laws import Law, Prepared
from icmodel.laws.flow import CLOSE, LATENCIES, Flow, latency_unknown
from icmodel.laws.metrics import ALWAYS, DEMAND, SENDER, UTILISATIONS, predicted, with_others
from icmodel.tables import HIGH, LOW, VALUE, Questions, TableQuery

NEAR_WIRE = 0.985
"""Least ratio of goodput to theory's bound at which the wire is the bottleneck.

Published numbers are rounded to 0.5 %, so the margin is 1.5 %.
"""
LOST = 1 - NEAR_WIRE
"""Loss rate of an unlimited stream above which the receiver is the bottleneck."""
NEAR_CPU = 0.95
"""Least utilisation at which the sender's cores are the bottleneck; IC2012 says "around 100 %"."""
CODES = {name: code for code, name in enumerate(BOTTLENECKS)}
UNKNOWN = CODES["unknown"]


class Answered(NamedTuple):
    """Answers of a law (rules of a model variant) to a block of n questions.

    ``columns`` maps each metric to an array (ends, n), NaN for a question without an answer.  The axis ``ends`` has
    length 3 for value, low and high end of the interval; length 1, the value, if intervals are not wanted.
    ``demand`` maps ``cpu_send`` and ``cpu_recv`` to an array (n,): the fraction of the requested cores that the
    requested stream would need.  Unlike a predicted utilisation, it may exceed 1.
    """

    law: Law
    prepared: Prepared
    query: TableQuery
    flow: Flow
    columns: Mapping[str, Floats]
    demand: Mapping[str, Floats]

    def bottleneck(self) -> Codes:
        """Bottleneck of each question's stream, as an index into `BOTTLENECKS`, array (n,)."""
        unknown = np.full(len(self.query.q), np.nan)
        return bottleneck(self.query.q, self.flow, self.demand.get(SENDER, unknown))

    def outside(self) -> Bools:
        """Mask (n,) of questions without a goodput, because the payload is outside the measured payloads."""
        missing = np.asarray(np.isnan(self.flow.goodput_bps[VALUE]))
        return missing & self.query.known(self.law.goodput) if missing.any() else missing


def answered(
    law: Law, prepared: Prepared, q: Questions, wanted: Collection[str], *, intervals: bool
) -> Answered:
    """Predict the metrics ``wanted`` for a block of questions by a law (rules of a model variant).

    With ``intervals``, each metric also has the low and the high end of its interval: 0 <= low <= value <= high.
    """
    query = TableQuery(prepared.tables, q, intervals=intervals)
    if q.work is not None and law.paced is not None:
        query = law.paced(query)
    flow = law.flow(query)
    found = law.answers(query, flow, wanted)
    columns = {name: ends for name, ends in found.items() if name in wanted}
    if q.endpoints.max(initial=1) > 1 and (unknown := latency_unknown(query, flow)).any():
        blank = fast_where(unknown, np.nan, 0.0)
        for name, ends in columns.items():
            if name.startswith(LATENCIES):
                columns[name] = ends + blank
    if intervals and columns:
        every = np.stack(list(columns.values()))
        value, low, high = every[:, VALUE], every[:, LOW], every[:, HIGH]
        np.maximum(np.fmin(low, value, out=low), 0.0, out=low)
        np.fmax(high, value, out=high)
        np.copyto(every[:, LOW:], np.nan, where=np.isnan(value)[:, None])
        columns = dict(zip(columns, every, strict=True))
    demand = {name: found[DEMAND + name][VALUE] for name in UTILISATIONS if DEMAND + name in found}
    return Answered(law, prepared, query, flow, columns, demand)


def in_overload(law: Law, over: Prepared, answer: Answered) -> Bools:
    """Mark the questions that are answered from dataset rows measured in overload, as a mask (n,).

    In overload, the request exceeds the capacity.  ``over`` holds the look-up tables made from these rows.  If ``law``,
    a variant of the model, uses no such rows, no question is marked.
    """
    if law.overload is None:
        return np.zeros(len(answer.query.q), dtype=bool)
    over_query = TableQuery(over.tables, answer.query.q, intervals=False)
    return law.overload.applies(answer.query, over_query, answer.flow)


# --- bottleneck -----------------------------------------------------------------------------------


def bottleneck(q: Questions, flow: Flow, cpu_send: Floats) -> Codes:
    """Bottleneck of each question, as an index into ``BOTTLENECKS``, array (n,).

    Parameters
    ----------
    q : Questions
        The questions.
    flow : Flow
        Goodput, loss and load of each question's stream.
    cpu_send : array
        Utilisation of the sender's cores, (n,), that sending the full request needs.  Above 1, the cores are too few;
        NaN is unknown.
    """
    capacity, goodput = flow.capacity_bps[VALUE], flow.goodput_bps[VALUE]
    not_achieved = flow.not_achieved[VALUE]
    shared = (q.endpoints > 1) & ~(flow.share_bps[VALUE] * (1 + CLOSE) >= capacity)
    facts = (
        not_achieved,
        cpu_send >= NEAR_CPU,
        capacity >= NEAR_WIRE * q.frames.greatest_bps,
        flow.saturated[VALUE] & q.lossy & (flow.unlimited_loss[VALUE] > LOST),
        shared,
        q.lossy & flow.receiver_overloaded[VALUE],
        cpu_send > 1,
    )
    row = np.zeros(len(q), dtype=np.uint8)
    for fact in facts:  # the last fact is the lowest bit, as in the truth table of bottlenecks
        row += row
        row |= fact
    code: Codes = TRUTH_TABLE.take(row)
    if q.work is not None and q.work.pace is not None:
        code[q.work.pace.by_sender] = CODES["cpu"]
        code[q.work.pace.by_receiver] = CODES["receiver"]
    no_rule = np.isnan(goodput) | (np.isinf(q.frames.greatest_bps) & np.isnan(cpu_send))
    code[no_rule & (not_achieved | np.isnan(goodput))] = UNKNOWN
    return code


def bottleneck_of_facts(
    not_achieved: bool,
    busy: bool,
    near_wire: bool,
    receiver_drops: bool,
    shared: bool,
    lossy_and_over: bool,
    needs_more_cores: bool,
) -> str:
    """Name the bottleneck of a stream, given seven facts about its answer.

    Parameters
    ----------
    not_achieved : bool
        Whether less than the request arrives.
    busy : bool
        Whether the sender's cores are almost fully used.
    near_wire : bool
        Whether the capacity is close to the bound of the wire.
    receiver_drops : bool
        Whether the request exceeds the capacity, and an unlimited stream of this protocol loses frames.
    shared : bool
        Whether the stream gets less than its capacity, because other endpoints share the interface.
    lossy_and_over : bool
        Whether the receiver is overloaded, and the protocol does not repeat lost frames.
    needs_more_cores : bool
        Whether the sender would need more cores than the question states.
    """
    if not not_achieved:
        return "cpu" if needs_more_cores else "request"
    if shared:
        return "receiver" if lossy_and_over else "share"
    if receiver_drops:
        return "receiver"
    if near_wire:
        return "wire"
    return "cpu" if busy else "packet-rate"


TRUTH_TABLE = np.array(
    [CODES[bottleneck_of_facts(*facts)] for facts in product((False, True), repeat=7)],
    dtype=np.int8,
)


# --- metrics --------------------------------------------------------------------------------------


def needed(data: Dataset, metrics: Collection[str] | None) -> frozenset[str] | None:
    """List the metrics whose look-up tables are needed to predict the wanted metrics; ``None`` means all.

    Some metrics are part of every prediction, so they are always listed.  If a statistic of a latency is wanted (such
    as its 99th percentile), all its statistics are listed, since the model keeps them in ascending order.  The same
    holds for the round trip.
    """
    return None if metrics is None else with_others((*metrics, *predicted(())), data.metrics)


def no_metric(data: Dataset, metric: str) -> str:
    """Make the error message for a metric without rows at the question's options.

    If the metric has rows with other options, the message names the command that lists these rows.  Otherwise, it
    lists the metrics of the dataset.
    """
    if metric in data.metrics:
        return (
            f"{data.id} has {metric} at other options only: `icmodel datasets points {data.id} "
            f"--metric {metric}` lists them"
        )
    have = dict.fromkeys((*ALWAYS, *data.metrics, "bottleneck"))
    return f"{data.id} has no metric {metric!r}: it has {', '.join(have)}"
