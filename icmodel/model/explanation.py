"""Explain the answer to one question: make a Prediction with the rows and rules that the answer rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

from icmodel.dataset.coverage import PROMISED
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, Prediction, UsedRow, absent
from icmodel.frozen import FrozenMapping
from icmodel.laws.bases import INTERPOLATED
from icmodel.laws.flow import CLOSE, switches_s
from icmodel.laws.metrics import BY_FLOW
from icmodel.laws.packets import MULTIPLE
from icmodel.laws.substitution import answering_cores
from icmodel.model.answering import Answered
from icmodel.scenario import Scenario
from icmodel.tables import VALUE
from icmodel.units import format_bps

CODES = {basis: code for code, basis in enumerate(BASES)}
NONE = (math.nan, math.nan, math.nan)
OF_ROW = attrgetter(*UsedRow._fields)


def prediction(scenario: Scenario, variant: str, answer: Answered) -> Prediction:
    """Make the Prediction for one question from its answer: metrics, bottleneck, rows used and notes."""
    data = answer.query.tables.data
    used = answer.law.bases(answer.query, answer.flow)
    reads = used.used(answer.query, answer.columns)
    metrics: dict[str, Estimate] = {}
    rows: set[int] = set()
    explanation = Explanation(scenario, variant, answer)
    ends = {name: column[:, 0].tolist() for name, column in answer.columns.items()}
    for name in answer.prepared.named:
        value, low, high = ends.get(name, NONE)
        if math.isnan(value):
            metrics[name] = absent(explanation.absence(name))
            continue
        own = {row for _, near in reads[name] for row in near}
        rows |= own
        # All bases that the metric used, from its rows, look-ups and rule, strongest first.
        codes = {CODES[data.points[row].basis] for row in own}
        codes.update([code for code, near in reads[name] if near])
        if any(len(near) > 1 for _, near in reads[name]):
            codes.add(INTERPOLATED)
        rule = int(used.rules[name][0]) if name in used.rules else 0
        if rule or not codes:
            codes.add(rule)
        bases = tuple([BASES[code] for code in sorted(codes)])
        why = explanation.extrapolation(name, sorted(own)) if "extrapolated" in bases else ""
        metrics[name] = Estimate(value, low, high, bases[-1], why, bases)
    return Prediction(
        scenario=scenario,
        dataset=data.id,
        sha256=data.sha256,
        variant=variant,
        metrics=FrozenMapping(metrics),
        bottleneck=BOTTLENECKS[int(answer.bottleneck()[0])],
        terms=FrozenMapping(explanation.terms(metrics["latency_mean_s"])),
        bounds=FrozenMapping(dict(answer.law.bounds(answer.query, answer.flow))),
        rows=tuple([UsedRow._make(OF_ROW(data.points[row])) for row in sorted(rows)]),
        notes=tuple(explanation.notes({name for name, one in metrics.items() if not one.absent})),
    )


class Explanation:
    """Sentences that explain the predicted numbers of one question, and why numbers are missing."""

    def __init__(self, scenario: Scenario, variant: str, answer: Answered) -> None:
        self.scenario, self.variant, self.answer = scenario, variant, answer
        self.query, self.flow = answer.query, answer.flow
        self.tables, self.data = answer.query.tables, answer.query.tables.data

    def absence(self, name: str) -> str:
        """Reason why the prediction has no value of a metric."""
        scenario, data = self.scenario, self.data
        for entry in data.absences:
            of_protocol = entry.get("protocol", scenario.protocol) == scenario.protocol
            if entry.get("metric") == name and of_protocol:
                return entry.get("reason", "the dataset says it is absent")
        table = self._table(name)
        if table is None or not self.query.known(table)[0]:
            named = [f"{axis} = {value}" for axis, value in scenario.options.items()]
            if scenario.switches:
                named.insert(0, f"{scenario.switches} switches")
            if scenario.cores is not None:
                named.insert(0, f"{scenario.cores} cores")
            where = f" at {', '.join(named)}" if named else ""
            return f"{data.id} has no rows of {name} for {scenario.protocol}{where}"
        first, last = self.query.payloads(table)[:, 0]
        if not first <= scenario.payload_bytes <= last:
            return (
                f"payload {scenario.payload_bytes} B is outside the {first:.0f} to {last:.0f} B for which "
                f"{data.id} has {name} of {scenario.protocol}"
            )
        return f"{data.id} has no {name} of {scenario.protocol} at this load"

    def extrapolation(self, name: str, rows: Sequence[int]) -> str:
        """Reason why a metric is ``extrapolated``: the axis, and the distance from the measured range."""
        if instead := self.answer.prepared.instead.get(self.scenario.protocol):
            return instead
        follows = name in (*BY_FLOW, "frames_per_s")
        by_flow = follows and not math.isnan(self.flow.goodput_bps[VALUE, 0])
        table = self.answer.law.goodput if by_flow else self._table(name)
        if table is None:
            return ""
        payload = self.scenario.payload_bytes
        first, last = self.query.payloads(table)[:, 0]
        if math.isinf(last):
            return "extrapolated on payload: the source does not say at which payload it holds"
        if not first <= payload <= last:
            return (
                f"extrapolated on payload: {_beyond(payload, first if payload < first else last)}"
            )
        if beyond := self._cores_beyond(self.answer.law.goodput if follows else table):
            return f"extrapolated on cores: {beyond}"
        # Otherwise the load is beyond the loads of the rows, or the payload is beyond the rows at that load.
        request = self.scenario.requested_goodput_bps
        text = "extrapolated on load: no benchmarked load on one side of the request"
        used = [self.data.points[row] for row in rows]
        limited = {p.load_bps for p in used if p.load_bps is not None and math.isfinite(p.load_bps)}
        if not limited or math.isinf(request):
            return text
        nearest = min(limited, key=lambda load: abs(load - request))
        if abs(request - nearest) > CLOSE * nearest:
            return f"{text}, {format_bps(abs(request - nearest), 3)} from {format_bps(nearest, 3)}"
        sizes = [float(p.payload_bytes or 0) for p in used if p.load_bps == nearest]
        edge = min(sizes, key=lambda size: abs(size - payload))
        return f"extrapolated on payload at {format_bps(nearest, 3)}: {_beyond(payload, edge)}"

    def terms(self, mean: Estimate) -> dict[str, float]:
        """Parts of the mean latency [s]: serialisation, propagation, switches and software stack.

        Empty if the dataset has no one-way latency.
        """
        if mean.absent or "latency_mean_s" not in self.tables.metrics:
            return {}
        link, query = self.tables.link, self.query
        extra = float(query.extra_distance_m[0]) if self.answer.law.adds_cable else 0.0
        terms = {
            "serialisation": float(query.q.frames.lone_s[0]),
            "propagation": ((link.cable_length_m or 0.0) + extra)
            * (link.propagation_s_per_m or 0.0),
            "switches": float(switches_s(query, ["latency_mean_s"])[0, 0]),
        }
        return terms | {"stack": mean.value - sum(terms.values())}

    def notes(self, present: set[str]) -> Iterator[str]:
        """Notes on the whole prediction; ``present`` names the metrics that have a value."""
        scenario, law = self.scenario, self.answer.law
        switches = self._row_switches("latency_mean_s")
        if scenario.switches and switches is not None and scenario.switches > switches:
            yield "each switch adds the dataset's switch latency; goodput is taken as unchanged by it"
        if scenario.switches and scenario.cores and self._row_switches("loss_rate") == 0:
            measured = (self.tables.metrics["loss_rate"].switches > 0).any()
            if measured and self.query.known("loss_rate")[0]:
                yield (
                    "loss behind a switch was not measured at this core count: the unswitched table stands "
                    "in (E17)"
                )
        demand = {name: float(needed[0]) for name, needed in self.answer.demand.items()}
        yield from law.notes(self.query, self.flow, scenario, demand)
        if beyond := self._cores_beyond(law.goodput):
            yield f"extrapolated on cores: {beyond}; goodput and loss are the nearest count's"
        shares = [
            f"{name} {100 * held.share:.0f} % of {held.rows}"
            for name, held in self.data.held.get(self.variant, {}).items()
            if held.share < PROMISED[0] and name in present
        ]
        if shares:
            yield (
                f"intervals cover less than 90 %: of the rows left out of {self.variant} they held "
                f"{', '.join(shares)}"
            )

    def _table(self, name: str) -> str | None:
        """Name of the look-up table that gives a metric; ``None`` if no table does."""
        metrics = self.tables.metrics
        if name in ("goodput_bps", "frames_per_s") and (name in BY_FLOW or name not in metrics):
            return self.answer.law.goodput
        if name in BY_FLOW:
            return "loss_rate"
        names = (name, MULTIPLE + name, name.removesuffix("_cores"))
        return next((table for table in names if table in metrics), None)

    def _row_switches(self, table: str) -> float | None:
        """Number of switches on the path on which a metric was measured; ``None`` if the dataset lacks the metric."""
        known = table in self.tables.metrics
        return float(self.query.switches([table])[0, 0]) if known else None

    def _cores_beyond(self, table: str) -> str:
        """Describe how far the requested core count is from the measured one, such as ``2 beyond 4``.

        Empty if both are equal.
        """
        scenario = int(self.query.q.cores[0])
        nearest = int(answering_cores(self.query, [table])[0, 0])
        return "" if scenario == nearest else f"{abs(scenario - nearest)} beyond {nearest}"


def _beyond(payload: float, edge: float) -> str:
    """Describe how far a payload is from the nearest measured payload, such as ``100 B beyond 1448 B``."""
    return f"{abs(payload - edge):.0f} B beyond {edge:.0f} B"
