"""Answer one block of questions by a law, one or many alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from icmodel.arrays import Bools, Codes, Floats
from icmodel.dataset import Dataset
from icmodel.laws.flow import Flow
from icmodel.laws.law import Law
from icmodel.laws.metrics import ALWAYS, predicted
from icmodel.laws.order import with_others
from icmodel.laws.prepared import Prepared
from icmodel.model.bottleneck import bottleneck
from icmodel.tables import HIGH, LOW, VALUE, Look, Questions


@dataclass(frozen=True, slots=True)
class Answered:
    """A block of n questions and what a law says of them.

    ``columns`` are the metrics that there are numbers of, each (ends, n) of value, low and high; NaN in
    all where a question has no answer.
    """

    law: Law
    prepared: Prepared
    look: Look
    flow: Flow
    columns: Mapping[str, Floats]

    def bottleneck(self) -> Codes:
        """What limits each stream, (n,)."""
        demand = np.full(len(self.look.q), np.nan)
        if "cpu_send" in self.look.tables.metrics:
            look, flow = self.look.of_values(), self.flow.of_values()
            demand = self.law.demand(look, ["cpu_send"], flow)[0, VALUE]
        return bottleneck(self.look.q, self.flow, demand)

    def outside(self) -> Bools:
        """Which questions are outside the payloads of their goodput, (n,)."""
        missing = np.isnan(self.flow.goodput_bps[VALUE])
        return np.asarray(missing & self.look.known(self.law.goodput))


def answered(
    law: Law, prepared: Prepared, q: Questions, wanted: Collection[str], *, intervals: bool
) -> Answered:
    """What a law says of a block of questions on its tables; the value alone, or with its interval."""
    look = Look(prepared.tables, q, intervals=intervals)
    flow = law.flow(look)
    found = law.answers(look, flow, wanted)
    columns = {name: ends for name, ends in found.items() if name in wanted}
    if intervals:
        columns = _with_intervals(columns)
    return Answered(law, prepared, look, flow, columns)


def too_much(law: Law, over: Prepared, found: Answered) -> Bools:
    """Which requests of a block are answered by a law's other tables, for those above what can be had, (n,)."""
    if law.overload is None:
        return np.zeros(len(found.look.q), dtype=bool)
    return law.overload.asked(
        found.look, Look(over.tables, found.look.q, intervals=False), found.flow
    )


def _with_intervals(found: Mapping[str, Floats]) -> dict[str, Floats]:
    """Metrics (ends, n), each interval holding its value and not going below 0."""
    every = np.stack(list(found.values()))
    value, low, high = every[:, VALUE], every[:, LOW], every[:, HIGH]
    np.maximum(np.fmin(low, value, out=low), 0.0, out=low)
    np.fmax(high, value, out=high)
    np.copyto(every[:, LOW:], np.nan, where=np.isnan(value)[:, None])
    return dict(zip(found, every, strict=True))


def named(prepared: Prepared) -> tuple[str, ...]:
    """Every metric that a prediction on some tables names."""
    return predicted(prepared.metrics)


def needed(data: Dataset, metrics: Collection[str] | None) -> frozenset[str] | None:
    """The metrics to make tables of where some are asked for; ``None``, for all, where none are named.

    Those that every prediction names come with them, and statistics that are put in order with theirs.
    """
    return None if metrics is None else with_others((*metrics, *predicted(())), data.metrics)


def no_metric(data: Dataset, metric: str) -> str:
    """Why a metric cannot be told, and what to ask for instead."""
    if metric in data.metrics:
        return (
            f"{data.id} has {metric} at other options only: `icmodel datasets points {data.id} "
            f"--metric {metric}` lists them"
        )
    have = dict.fromkeys((*ALWAYS, *data.metrics, "bottleneck"))
    return f"{data.id} has no metric {metric!r}: it has {', '.join(have)}"
