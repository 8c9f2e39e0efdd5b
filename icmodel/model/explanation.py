"""Explain the answer to one question: a Prediction with the rows and rules it rests on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from icmodel.dataset import Dataset, Point
from icmodel.dataset.coverage import PROMISED
from icmodel.estimate import BASES, BOTTLENECKS, Estimate, Prediction, UsedRow, absent
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


def prediction(asked: Scenario, variant: str, answer: Answered) -> Prediction:
    """The Prediction of a block of one question."""
    data = answer.look.tables.data
    used = answer.law.bases(answer.look, answer.flow)
    found = used.used(answer.look, answer.columns)
    metrics: dict[str, Estimate] = {}
    rows: set[int] = set()
    explained = Explained(asked, answer)
    ends = {name: column[:, 0].tolist() for name, column in answer.columns.items()}
    for name in answer.prepared.named:
        value, low, high = ends.get(name, NONE)
        if math.isnan(value):
            metrics[name] = absent(explained.absence(name))
            continue
        own = {row for _, near in found[name] for row in near}
        rows |= own
        rule = int(used.rules[name][0]) if name in used.rules else 0
        bases = _bases(found[name], (data.points[row].basis for row in own), rule)
        why = explained.extrapolation(name, sorted(own)) if "extrapolated" in bases else ""
        metrics[name] = Estimate(value, low, high, bases[-1], why, bases)
    return Prediction(
        scenario=asked,
        dataset=data.id,
        sha256=data.sha256,
        variant=variant,
        metrics=MappingProxyType(metrics),
        bottleneck=BOTTLENECKS[int(answer.bottleneck()[0])],
        terms=MappingProxyType(explained.terms(metrics["latency_mean_s"])),
        bounds=MappingProxyType(dict(answer.law.bounds(answer.look, answer.flow))),
        rows=tuple([UsedRow._make(OF_ROW(data.points[row])) for row in sorted(rows)]),
        notes=(*explained.notes(), *_promises(data, variant, metrics)),
    )


def _bases(
    reads: Sequence[tuple[int, Sequence[int]]], of_rows: Iterable[str], rule: int
) -> tuple[str, ...]:
    """Every basis that a metric used, strongest first: those of its look-ups, their rows and its rule."""
    every = {CODES[basis] for basis in of_rows}
    every.update([code for code, near in reads if near])
    if any(len(near) > 1 for _, near in reads):
        every.add(INTERPOLATED)
    if rule or not every:
        every.add(rule)
    return tuple([BASES[code] for code in sorted(every)])


class Explained:
    """Sentences that explain the numbers of one answer."""

    def __init__(self, asked: Scenario, answer: Answered) -> None:
        self.asked, self.answer = asked, answer
        self.look, self.flow = answer.look, answer.flow
        self.tables, self.data = answer.look.tables, answer.look.tables.data

    def absence(self, name: str) -> str:
        """Why a metric has no value."""
        asked, data = self.asked, self.data
        for entry in data.absences:
            of_protocol = entry.get("protocol", asked.protocol) == asked.protocol
            if entry.get("metric") == name and of_protocol:
                return entry.get("reason", "the dataset says it is absent")
        table = self._table(name)
        if table is None or not self.look.known(table)[0]:
            return f"{data.id} has no rows of {name} for {asked.protocol}{_counts(asked)}"
        first, last = self.look.payloads(table)[:, 0]
        if not first <= asked.payload_bytes <= last:
            return (
                f"payload {asked.payload_bytes} B is outside the {first:.0f} to {last:.0f} B for which "
                f"{data.id} has {name} of {asked.protocol}"
            )
        return f"{data.id} has no {name} of {asked.protocol} at this load"

    def extrapolation(self, name: str, rows: Sequence[int]) -> str:
        """Why a metric is ``extrapolated``: the axis, and how far."""
        if instead := self.answer.prepared.instead.get(self.asked.protocol):
            return instead
        follows = name in (*BY_FLOW, "frames_per_s")
        by_flow = follows and not math.isnan(self.flow.goodput_bps[VALUE, 0])
        table = self.answer.law.goodput if by_flow else self._table(name)
        if table is None:
            return ""
        payload = self.asked.payload_bytes
        first, last = self.look.payloads(table)[:, 0]
        if math.isinf(last):
            return "extrapolated on payload: the source does not say at which payload it holds"
        if not first <= payload <= last:
            return (
                f"extrapolated on payload: {_beyond(payload, first if payload < first else last)}"
            )
        if beyond := self._cores_beyond(self.answer.law.goodput if follows else table):
            return f"extrapolated on cores: {beyond}"
        return self._load_beyond([self.data.points[row] for row in rows])

    def terms(self, mean: Estimate) -> dict[str, float]:
        """Terms that sum to the mean latency [s]; empty where the dataset has no one-way latency."""
        if mean.absent or "latency_mean_s" not in self.tables.metrics:
            return {}
        link, q = self.tables.link, self.look.q
        extra = float(q.extra_distance_m[0]) if self.answer.law.adds_cable else 0.0
        terms = {
            "serialisation": float(q.frames.lone_s[0]),
            "propagation": ((link.cable_length_m or 0.0) + extra)
            * (link.propagation_s_per_m or 0.0),
            "switches": float(switches_s(self.look, ["latency_mean_s"])[0, 0]),
        }
        return terms | {"stack": mean.value - sum(terms.values())}

    def notes(self) -> Iterator[str]:
        """Notes on the prediction as a whole."""
        asked, law = self.asked, self.answer.law
        needed = {name: float(demand[0]) for name, demand in self.answer.demand.items()}
        switches = self._switches("latency_mean_s")
        if asked.switches and switches is not None and asked.switches > switches:
            yield "each switch adds the dataset's switch latency; goodput is taken as unchanged by it"
        if asked.switches and asked.cores and self._unswitched_loss():
            yield (
                "loss behind a switch was not measured at this core count: the unswitched table stands "
                "in (E17)"
            )
        yield from law.notes(self.look, self.flow, asked, needed)
        if beyond := self._cores_beyond(law.goodput):
            yield f"extrapolated on cores: {beyond}; goodput and loss are the nearest count's"

    def _table(self, name: str) -> str | None:
        """The table from which a metric is looked up, if there is one."""
        metrics = self.tables.metrics
        if name in ("goodput_bps", "frames_per_s") and (name in BY_FLOW or name not in metrics):
            return self.answer.law.goodput
        if name in BY_FLOW:
            return "loss_rate"
        names = (name, MULTIPLE + name, name.removesuffix("_cores"))
        return next((table for table in names if table in metrics), None)

    def _switches(self, table: str) -> float | None:
        """The switch count of the rows of a metric."""
        known = table in self.tables.metrics
        return float(self.look.switches([table])[0, 0]) if known else None

    def _unswitched_loss(self) -> bool:
        measured = (self.tables.metrics["loss_rate"].switches > 0).any()
        known = bool(self.look.known("loss_rate")[0])
        return known and bool(measured) and self._switches("loss_rate") == 0

    def _cores_beyond(self, table: str) -> str:
        """Distance of the requested cores from those of the rows used; empty where they are equal."""
        asked = int(self.look.q.cores_count[0])
        nearest = int(answering_cores(self.look, [table])[0, 0])
        return "" if asked == nearest else f"{abs(asked - nearest)} beyond {nearest}"

    def _load_beyond(self, rows: Sequence[Point]) -> str:
        """Distance of the request from the load of the rows used, or of its payload from theirs."""
        request, payload = self.asked.requested_goodput_bps, self.asked.payload_bytes
        text = "extrapolated on load: no benchmarked load on one side of the request"
        limited = {p.load_bps for p in rows if p.load_bps is not None and math.isfinite(p.load_bps)}
        if not limited or math.isinf(request):
            return text
        nearest = min(limited, key=lambda load: abs(load - request))
        if abs(request - nearest) > CLOSE * nearest:
            return f"{text}, {format_bps(abs(request - nearest), 3)} from {format_bps(nearest, 3)}"
        own = [float(p.payload_bytes or 0) for p in rows if p.load_bps == nearest]
        edge = min(own, key=lambda size: abs(size - payload))
        return f"extrapolated on payload at {format_bps(nearest, 3)}: {_beyond(payload, edge)}"


def _beyond(payload: float, edge: float) -> str:
    """Distance of a payload from the last measured one."""
    return f"{abs(payload - edge):.0f} B beyond {edge:.0f} B"


def _counts(asked: Scenario) -> str:
    named = [f"{axis} = {value}" for axis, value in asked.options]
    if asked.switches:
        named.insert(0, f"{asked.switches} switches")
    if asked.cores is not None:
        named.insert(0, f"{asked.cores} cores")
    return f" at {', '.join(named)}" if named else ""


def _promises(data: Dataset, variant: str, metrics: Mapping[str, Estimate]) -> Iterator[str]:
    """Note on intervals that covered too few left-out rows for 90 %."""
    weak = {
        name: held
        for name, held in data.held.get(variant, {}).items()
        if held.share < PROMISED[0] and name in metrics and not metrics[name].absent
    }
    if weak:
        shares = ", ".join(
            f"{name} {100 * held.share:.0f} % of {held.rows}" for name, held in weak.items()
        )
        yield f"intervals cover less than 90 %: of the rows left out of {variant} they held {shares}"
