"""Answer one block of questions by a law, whether of one question or of many."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from icmodel.arrays import Bools, Codes, Floats
from icmodel.dataset import Dataset
from icmodel.laws.flow import Flow
from icmodel.laws.law import Law
from icmodel.laws.metrics import ALWAYS, DEMAND, SENDER, UTILISATIONS, predicted
from icmodel.laws.order import with_others
from icmodel.laws.prepared import Prepared
from icmodel.model.bottleneck import bottleneck
from icmodel.tables import HIGH, LOW, VALUE, Look, Questions


class Answered(NamedTuple):
    """A block of n questions with its answers.

    ``columns`` are the metrics with numbers, each (ends, n) of value, low and high; NaN where a question has no
    answer.  ``demand`` (n,), for each utilisation that the answers rest on, is what the stream needs of the requested
    cores, above 1 too.
    """

    law: Law
    prepared: Prepared
    look: Look
    flow: Flow
    columns: Mapping[str, Floats]
    demand: Mapping[str, Floats]

    def bottleneck(self) -> Codes:
        """The bottleneck of each stream, (n,)."""
        unknown = np.full(len(self.look.q), np.nan)
        return bottleneck(self.look.q, self.flow, self.demand.get(SENDER, unknown))

    def outside(self) -> Bools:
        """Which questions are outside the payloads of their goodput, (n,)."""
        missing = np.isnan(self.flow.goodput_bps[VALUE])
        return np.asarray(missing & self.look.known(self.law.goodput))


def answered(
    law: Law, prepared: Prepared, q: Questions, wanted: Collection[str], *, intervals: bool
) -> Answered:
    """Answer a block of questions by a law on its tables, with intervals or with values alone."""
    look = Look(prepared.tables, q, intervals=intervals)
    if q.work is not None and law.paced is not None:
        look = law.paced(look)
    flow = law.flow(look)
    found = law.answers(look, flow, wanted)
    columns = {name: ends for name, ends in found.items() if name in wanted}
    demand = {name: found[DEMAND + name][VALUE] for name in UTILISATIONS if DEMAND + name in found}
    if intervals:
        columns = _with_intervals(columns)
    return Answered(law, prepared, look, flow, columns, demand)


def too_much(law: Law, over: Prepared, found: Answered) -> Bools:
    """Which requests are answered by the law's tables for overload, (n,)."""
    if law.overload is None:
        return np.zeros(len(found.look.q), dtype=bool)
    return law.overload.asked(
        found.look, Look(over.tables, found.look.q, intervals=False), found.flow
    )


def _with_intervals(found: Mapping[str, Floats]) -> dict[str, Floats]:
    """Metrics (ends, n), with intervals that contain their value and are not below 0."""
    if not found:
        return {}
    every = np.stack(list(found.values()))
    value, low, high = every[:, VALUE], every[:, LOW], every[:, HIGH]
    np.maximum(np.fmin(low, value, out=low), 0.0, out=low)
    np.fmax(high, value, out=high)
    np.copyto(every[:, LOW:], np.nan, where=np.isnan(value)[:, None])
    return dict(zip(found, every, strict=True))


def needed(data: Dataset, metrics: Collection[str] | None) -> frozenset[str] | None:
    """The metrics that need tables if only some are wanted; ``None``, for all, if none are named.

    They include those of every prediction, and other statistics of the same times, on which the order depends.
    """
    return None if metrics is None else with_others((*metrics, *predicted(())), data.metrics)


def no_metric(data: Dataset, metric: str) -> str:
    """Message that a dataset does not have a metric, and what to ask for instead."""
    if metric in data.metrics:
        return (
            f"{data.id} has {metric} at other options only: `icmodel datasets points {data.id} "
            f"--metric {metric}` lists them"
        )
    have = dict.fromkeys((*ALWAYS, *data.metrics, "bottleneck"))
    return f"{data.id} has no metric {metric!r}: it has {', '.join(have)}"
