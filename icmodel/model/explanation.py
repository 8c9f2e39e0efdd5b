"""Explain the answer to one question: make a Prediction with the rows and rules behind the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter

from icmodel.dataset.dataset import PROMISED
from icmodel.estimate import (
    BASES,
    BOTTLENECKS,
    EXTRAPOLATED,
    Estimate,
    Prediction,
    UsedRow,
)
from icmodel.frozen import FrozenMapping
from icmodel.laws.corrected_tables import MULTIPLE
from icmodel.laws.flow import CLOSE, INTERFACE_OVERLOADED, LATENCIES, latency_unknown, switches_s
from icmodel.laws.metrics import BY_FLOW, INTERPOLATED, Bases
from icmodel.laws.substitution import answering_cores
from icmodel.model.answering import Answered
from icmodel.scenario import Scenario
from icmodel.tables import VALUE
from icmodel.units import format_bps

CODES = {basis: code for code, basis in enumerate(BASES)}
NONE = (math.nan, math.nan, math.nan)
OF_ROW = attrgetter(*UsedRow._fields)


def prediction(scenario: Scenario, variant: str, answer: Answered) -> Prediction:
    """Make the Prediction of one question from its answer; bases, rows and texts are computed on first use."""
    explanation = Explanation(scenario, variant, answer)
    metrics = {
        name: Estimate.later(
            partial(explanation.estimate_field, name), value=value, low=low, high=high
        )
        for name, (value, low, high) in explanation.ends.items()
    }
    return Prediction.later(
        partial(getattr, explanation),
        scenario=scenario,
        dataset=explanation.data.id,
        sha256=explanation.data.sha256,
        variant=variant,
        metrics=FrozenMapping(metrics),
        bottleneck=BOTTLENECKS[int(answer.bottleneck()[0])],
    )


class Explanation:
    """Explanation of the predicted numbers of one question: their evidence, terms and bounds.

    Each property is computed when it is first read.
    """

    def __init__(self, scenario: Scenario, variant: str, answer: Answered) -> None:
        self.scenario, self.variant, self.answer = scenario, variant, answer
        self.query, self.flow = answer.query, answer.flow
        self.tables, self.data = answer.query.tables, answer.query.tables.data
        found = {name: column[:, 0].tolist() for name, column in answer.columns.items()}
        self.ends = {name: found.get(name, NONE) for name in answer.prepared.named}

    @cached_property
    def present(self) -> tuple[str, ...]:
        """Names of the metrics that have a value."""
        return tuple(name for name, ends in self.ends.items() if not math.isnan(ends[VALUE]))

    @cached_property
    def used(self) -> Bases:
        """For each metric, the table look-ups and rules from which it was computed."""
        return self.answer.law.bases(self.query, self.flow)

    @cached_property
    def lookups(self) -> Mapping[str, Sequence[tuple[int, Sequence[int]]]]:
        """Map each metric to its table look-ups: pairs of a basis (index into `BASES`) and the dataset rows used."""
        return self.used.used(self.query, self.answer.columns)

    def rows_of(self, name: str) -> set[int]:
        """Indices of the dataset rows used for a metric."""
        return {row for _, near in self.lookups[name] for row in near}

    def estimate_field(self, name: str, part: str) -> object:
        """Return the field ``part`` of a metric's Estimate: ``bases``, ``basis`` (the weakest of them) or ``why``."""
        if name not in self.present:
            return {"bases": (), "basis": "", "why": self.absence(name)}[part]
        bases = self.bases(name)
        if part == "why":
            extrapolated = EXTRAPOLATED in bases
            return self.extrapolation(name, sorted(self.rows_of(name))) if extrapolated else ""
        return bases if part == "bases" else bases[-1]

    def bases(self, name: str) -> tuple[str, ...]:
        """All bases (kinds of evidence) behind a metric, the strongest first.

        A dataset row, a table look-up (such as an interpolation) and a rule of the model each contribute their basis.
        """
        lookups = self.lookups[name]
        codes = {CODES[self.data.points[row].basis] for row in self.rows_of(name)}
        codes.update([code for code, near in lookups if near])
        if any(len(near) > 1 for _, near in lookups):
            codes.add(INTERPOLATED)
        rules = self.used.rules
        rule = int(rules[name][0]) if name in rules else 0
        if rule or not codes:
            codes.add(rule)
        return tuple([BASES[code] for code in sorted(codes)])

    # --- parts of the prediction --------------------------------------------------------------

    @property
    def rows(self) -> tuple[UsedRow, ...]:
        """Dataset rows from which at least one metric of the prediction was computed."""
        rows = sorted(set().union(*map(self.rows_of, self.present)))
        return tuple([UsedRow._make(OF_ROW(self.data.points[row])) for row in rows])

    @property
    def bounds(self) -> Mapping[str, float]:
        """Upper bounds of the goodput [b/s] by name, such as ``request`` for the requested goodput."""
        return FrozenMapping(dict(self.answer.law.bounds(self.query, self.flow)))

    @property
    def terms(self) -> Mapping[str, float]:
        """Parts that add up to the mean latency [s]: serialisation, propagation, switches, and the rest as ``stack``.

        The stack is operating system, driver, network card and PCIe.  Empty if the dataset has no one-way latency.
        """
        if "latency_mean_s" not in self.present or "latency_mean_s" not in self.tables.metrics:
            return FrozenMapping({})
        link, query = self.tables.link, self.query
        extra = float(query.extra_distance_m[0]) if self.answer.law.adds_cable else 0.0
        terms = {
            "serialisation": float(query.q.frames.lone_s[0]),
            "propagation": ((link.cable_length_m or 0.0) + extra)
            * (link.propagation_s_per_m or 0.0),
            "switches": float(switches_s(query, ["latency_mean_s"])[0, 0]),
        }
        mean = self.ends["latency_mean_s"][VALUE]
        return FrozenMapping(terms | {"stack": mean - sum(terms.values())})

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on assumptions and limits of the whole prediction, not of a single metric."""
        return tuple(self._notes())

    # --- texts --------------------------------------------------------------------------------

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
        if name.startswith(LATENCIES) and latency_unknown(self.query, self.flow)[0]:
            return INTERFACE_OVERLOADED
        return f"{data.id} has no {name} of {scenario.protocol} at this load"

    def extrapolation(self, name: str, rows: Sequence[int]) -> str:
        """Reason why a metric is ``extrapolated``: the parameter outside the measured range, and how far outside."""
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
            return "extrapolated on payload: the source does not state the payload of its number"
        if not first <= payload <= last:
            return (
                f"extrapolated on payload: {_beyond(payload, first if payload < first else last)}"
            )
        if beyond := self._cores_beyond(self.answer.law.goodput if follows else table):
            return f"extrapolated on cores: {beyond}"
        # The load is outside the measured loads, or the payload is outside the rows at that load.
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

    def _notes(self) -> Iterator[str]:
        scenario, law = self.scenario, self.answer.law
        switches = self._row_switches("latency_mean_s")
        if scenario.switches and switches is not None and scenario.switches > switches:
            yield "each switch adds the dataset's switch latency; switches are assumed not to change the goodput"
        if scenario.switches and scenario.cores and self._row_switches("loss_rate") == 0:
            measured = (self.tables.metrics["loss_rate"].switches > 0).any()
            if measured and self.query.known("loss_rate")[0]:
                yield (
                    "loss behind a switch was not measured at this core count: the loss without a switch is "
                    "used (erratum E17)"
                )
        demand = {name: float(needed[0]) for name, needed in self.answer.demand.items()}
        yield from law.notes(self.query, self.flow, scenario, demand)
        if beyond := self._cores_beyond(law.goodput):
            yield f"extrapolated on cores: {beyond}; goodput and loss are those of the nearest count"
        shares = [
            f"{name} {100 * held.share:.0f} % of {held.rows}"
            for name, held in self.data.held.get(self.variant, {}).items()
            if held.share < PROMISED[0] and name in self.present
        ]
        if shares:
            yield (
                f"in tests on left-out rows, intervals of {self.variant} cover less than 90 %: "
                f"{', '.join(shares)}"
            )

    def _table(self, name: str) -> str | None:
        """Name of the look-up table from which a metric is predicted; ``None`` if there is no such table.

        A metric that is computed from another metric uses the table of that metric: ``cpu_send_cores`` uses the table
        ``cpu_send``.
        """
        metrics = self.tables.metrics
        if name in ("goodput_bps", "frames_per_s") and (name in BY_FLOW or name not in metrics):
            return self.answer.law.goodput
        if name in BY_FLOW:
            return "loss_rate"
        names = (name, MULTIPLE + name, name.removesuffix("_cores"))
        return next((table for table in names if table in metrics), None)

    def _row_switches(self, table: str) -> float | None:
        """Number of switches on the path where a metric was measured; ``None`` if the dataset lacks the metric."""
        known = table in self.tables.metrics
        return float(self.query.switches([table])[0, 0]) if known else None

    def _cores_beyond(self, table: str) -> str:
        """Describe how far the requested core count is from the measured core count whose rows are used.

        For 6 requested and 4 measured cores, the text is ``2 beyond 4``. It is empty if the two counts are equal.
        """
        scenario = int(self.query.q.cores[0])
        nearest = int(answering_cores(self.query, [table])[0, 0])
        return "" if scenario == nearest else f"{abs(scenario - nearest)} beyond {nearest}"


def _beyond(payload: float, edge: float) -> str:
    """Describe how far a payload is from the nearest measured payload, such as ``100 B beyond 1448 B``."""
    return f"{abs(payload - edge):.0f} B beyond {edge:.0f} B"
