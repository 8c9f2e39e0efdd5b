"""Report sections on predictions: parameters, metrics, reasons, dataset rows, sources and limits of validity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from icmodel.documents import group_by_key
from icmodel.estimate import (
    BASES,
    EXTRAPOLATED,
    Estimate,
    Prediction,
    UsedRow,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
)
from icmodel.report.blocks import Bar, Bars, Block, Cell, Facts, Fold, Heading, Items, Table, Text
from icmodel.report.verdicts import derivation_table
from icmodel.scenario import Scenario
from icmodel.usecase import CandidateResult, Evaluation

INTERVAL = "The interval is the one that holds a new run on the dataset's hosts in 90 of 100 cases."
MEANINGS = {
    "measured": "measured by icmodel's own tool",
    "tabulated": "printed in a table or a published result file of the source",
    "stated": "a sentence of the source",
    "theory": "follows from the format of the frames and the rate of the wire",
    "derived": "computed from such numbers by a named rule",
    "interpolated": "between benchmarked points",
    "assumed": "a rule of the dataset's README, with a wide range",
    EXTRAPOLATED: "beyond the benchmarked points",
}


def predictions(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on each stream: its parameters, and its metrics with interval and basis (kind of evidence)."""
    yield Text(
        f"{INTERVAL} The basis of a number is the weakest of its sources; all are listed from the "
        "strongest."
    )
    yield Fold("What the bases mean", (Facts(tuple(MEANINGS.items())),))
    chosen = evaluation.chosen
    yield from _answers(chosen)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(f"Predictions of {candidate.name}", tuple(_answers(candidate)))


def _answers(candidate: CandidateResult) -> Iterator[Block]:
    """Yield blocks on each stream of a candidate: its parameters, predicted metrics and derived rates.

    Metrics without a value are in a collapsed list.
    """
    for answer in candidate.answers:
        yield Heading(f"{candidate.name}: {answer.stream}")
        yield Facts(tuple(parameters(answer.scenario)))
        if answer.prediction is None:
            yield Text(f"No prediction: {answer.why}.")
        else:
            metrics = answer.prediction.metrics
            yield metric_table(answer.stream, metrics)
            absent = tuple(
                f"{metric_name(name)}: {estimate.why}"
                for name, estimate in metrics.items()
                if estimate.absent
            )
            if absent:
                title = f"{plural(len(absent), 'metric')} without a number"
                yield Fold(title, (Items("", absent),))
        if answer.derivations:
            yield derivation_table(f"Rates for {answer.stream}", answer.derivations)


def parameters(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a scenario as pairs of name and text."""
    yield "protocol", scenario.protocol
    yield "payload", quantity("payload_bytes", scenario.payload_bytes)
    if scenario.rate_fps is None:
        yield "rate", "unlimited"
    else:
        yield "rate", quantity("rate_fps", scenario.rate_fps)
        yield "requested goodput", quantity("goodput_bps", scenario.requested_goodput_bps)
    yield "cores", "as benchmarked" if scenario.cores is None else str(scenario.cores)
    yield "switches", str(scenario.switches)
    yield "endpoints", str(scenario.endpoints)
    if scenario.endpoints > 1:
        yield "others ask for", quantity("other_goodput_bps", scenario.other_goodput_bps)
    if scenario.distance_m is not None:
        yield "distance", quantity("distance_m", scenario.distance_m)
    if scenario.line_rate_bps is not None:
        yield "line rate", quantity("line_rate_bps", scenario.line_rate_bps)
    if scenario.cpu_clock_ratio != 1:
        yield "CPU clock", f"{scenario.cpu_clock_ratio:g} times that of the dataset's hosts"
    for name, value in scenario.work.to_dict().items():
        if value:
            yield name, quantity(name, value)
    yield from scenario.options.items()


def metric_table(stream: str, metrics: Mapping[str, Estimate]) -> Table:
    """Return a table of predicted metrics: value, interval and bases (kinds of evidence).

    Metrics without a value are left out.
    """
    rows = []
    for name, estimate in metrics.items():
        if estimate.absent:
            continue
        others = [basis for basis in estimate.bases if basis != estimate.basis]
        bases = f"{estimate.basis}; with {', '.join(others)}" if others else estimate.basis
        rows.append(
            (
                Cell(metric_name(name), name=name),
                Cell(estimated(name, estimate)),
                Cell(interval(name, estimate)),
                Cell(bases, note="" if estimate.basis == EXTRAPOLATED else estimate.why),
            )
        )
    columns = ("metric", "value", "90 % interval", "based on")
    return Table(f"Predicted for {stream}", columns, tuple(rows), numbers=columns[1:3])


# --- why --------------------------------------------------------------------------------------


def reasons(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks that explain the chosen candidate's predictions: goodput bounds and latency terms."""
    explained = {
        answer.stream: answer.prediction
        for answer in evaluation.chosen.answers
        if answer.prediction is not None
    }
    if not explained:
        yield Text(f"There is no prediction of {evaluation.candidate} to explain.")
    for stream, prediction in explained.items():
        yield Heading(f"{evaluation.candidate}: {stream}")
        yield from explain(prediction)


def explain(prediction: Prediction) -> Iterator[Block]:
    """Yield bar charts that explain a prediction: bounds of the goodput, and terms of the mean latency.

    The goodput is the least bound; the mean latency is the sum of the terms.
    """
    bounds = prediction.bounds
    if bounds:
        by = f", limited by {by}" if (by := limit_name(prediction.bottleneck)) else ""
        yield Text(f"The goodput is the least of its bounds{by}.")
        finite = [value for value in bounds.values() if math.isfinite(value)]
        longest, least = max(finite, default=1.0), min(finite, default=0.0)
        bars = (
            Bar(
                name,
                quantity("goodput_bps", value),
                share=0.0 if math.isnan(value) else min(value / longest, 1.0),
                mark="decides" if value == least else "",
            )
            for name, value in bounds.items()
        )
        yield Bars("Bounds of the goodput", tuple(bars))
    terms = prediction.terms
    if terms:
        mean = quantity("latency_mean_s", prediction.metrics["latency_mean_s"].value)
        yield Text(f"The terms of the latency add up to its mean, {mean}.")
        longest = max(terms.values())
        bars = (
            Bar(
                name,
                quantity("latency_mean_s", value),
                share=max(value / longest, 0.0) if longest > 0 else 0.0,
                mark="longest" if value == longest else "",
            )
            for name, value in terms.items()
        )
        yield Bars("Terms of the mean latency", tuple(bars))
    else:
        yield Text("There is no one-way latency to explain.")


# --- the rows of the dataset ------------------------------------------------------------------


def rows(evaluation: Evaluation) -> Iterator[Block]:
    """Yield two tables: dataset rows used by the predictions, and sources of these rows."""
    data = evaluation.data
    used = used_rows(evaluation.candidates)
    if not used:
        yield Text(f"No row of {data.id} was used: nothing could be predicted.")
        return
    counted = [(evaluation.candidate, used_rows([evaluation.chosen]))]
    if len(evaluation.candidates) > 1:
        counted.append(("all candidates together", used))
    for whose, some in counted:
        if some:
            count = f"{plural(len(some), 'row')} of {data.id}: {_count_by_basis(some)}"
            yield Text(f"The predictions of {whose} use {count}.")
        else:
            yield Text(f"The predictions of {whose} use no row of {data.id}.")
    by_source = group_by_key((row.source, row) for row in used)
    origins = tuple(
        (Cell(source), Cell(str(len(some))), Cell(_count_by_basis(some)))
        for source, some in sorted(by_source.items())
    )
    yield Table("Where the rows come from", ("source", "rows", "basis"), origins, numbers=("rows",))

    def text(name: str, value: float | None) -> str:
        return "–" if value is None else quantity(name, value)

    cells = tuple(
        (
            Cell(str(row.line)),
            Cell(metric_name(row.metric)),
            Cell(text("payload_bytes", row.payload_bytes)),
            Cell(text("load_bps", row.load_bps)),
            Cell(text(row.metric, row.value)),
            Cell(row.basis),
            Cell(row.source),
        )
        for row in used
    )
    columns = ("line", "metric", "payload", "load", "value", "basis", "source")
    numbers = ("line", "payload", "load", "value")
    table = Table(f"Rows of {data.id}, points.csv", columns, cells, numbers)
    yield Fold(f"The rows themselves ({len(used)})", (table,))


def used_rows(candidates: Iterable[CandidateResult]) -> tuple[UsedRow, ...]:
    """Return every dataset row used by the given candidates, once, in the dataset's order."""
    used = {
        row.line: row
        for candidate in candidates
        for answer in candidate.answers
        if answer.prediction is not None
        for row in answer.prediction.rows
    }
    return tuple(used[line] for line in sorted(used))


def _count_by_basis(rows: Iterable[UsedRow]) -> str:
    counts = Counter(row.basis for row in rows)
    return ", ".join(f"{counts[basis]} {basis}" for basis in BASES if basis in counts)


# --- sources and limits -----------------------------------------------------------------------


def sources(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on the sources of the use case and the dataset: citation, licence, tool and hosts."""
    case, data = evaluation.usecase, evaluation.data
    yield Heading("The use case")
    pairs = [("use case", case.name), ("stands in", case.source), ("citation", case.citation)]
    yield Facts(tuple((name, text) for name, text in pairs if text))

    yield Heading("The dataset")
    tool = data.document.get("tool")
    measured = ""
    if isinstance(tool, dict):
        version = tool.get("version", "not stated")
        measured = f"{tool.get('name', 'not named')} (version: {version})"
    pairs = [
        ("dataset", f"{data.id}, edition {data.document.get('edition', 'not said')}"),
        ("title", data.title),
        ("citation", data.citation),
        ("licence", data.licence),
        ("measured with", measured),
    ]
    yield Facts(tuple((name, text) for name, text in pairs if text))

    hosts = data.document.get("hosts", [])
    described = []
    for host in hosts if isinstance(hosts, list) else []:
        parts = "; ".join(f"{key}: {value}" for key, value in host.items() if key != "name")
        named = str(host.get("name", "not named"))
        described.append(f"{named}: {parts}" if parts else named)
    if described:
        yield Items("Hosts", tuple(described))


def limits(evaluation: Evaluation) -> Iterator[Block]:
    """Yield blocks on the limits of validity: assumed rows, extrapolation, notes and known limits."""
    chosen = evaluation.chosen
    used = used_rows([chosen])
    assumed = sum(row.basis == "assumed" for row in used)
    if used:
        yield Text(
            f"{assumed} of the {plural(len(used), 'row')} under {chosen.name} "
            f"{'is' if assumed == 1 else 'are'} assumed: by rules of the dataset's README, not "
            "measured."
        )
    for title, sentences in (
        ("Beyond the data", beyond_data(chosen)),
        (f"Notes on {chosen.name}", _notes(chosen)),
        ("Notes", evaluation.notes),
        ("Known limits of the dataset", evaluation.data.known_limits),
        ("Known limits of the use case", evaluation.usecase.known_limits),
    ):
        if items := tuple(sentences):
            yield Items(title, items)
    for candidate in evaluation.candidates:
        items = (*beyond_data(candidate), *_notes(candidate))
        if candidate is not chosen and items:
            yield Fold(f"Notes on {candidate.name}", (Items("", items),))


def beyond_data(candidate: CandidateResult) -> Iterator[str]:
    """Yield a sentence for each reason why predictions of a candidate are extrapolated, with the metrics concerned."""
    for answer in candidate.answers:
        metrics = {} if answer.prediction is None else answer.prediction.metrics
        reasons = group_by_key(
            (estimate.why or EXTRAPOLATED, metric_name(name))
            for name, estimate in metrics.items()
            if estimate.basis == EXTRAPOLATED
        )
        for why, names in reasons.items():
            yield f"{answer.stream}: {why} ({'; '.join(names)})"


def _notes(candidate: CandidateResult) -> Iterator[str]:
    """Yield notes on a candidate and its streams, and the reasons why streams have no prediction."""
    yield from candidate.notes
    for answer in candidate.answers:
        if answer.prediction is None:
            yield f"{answer.stream}: {answer.why}"
        yield from (f"{answer.stream}: {note}" for note in answer.notes)
