"""The predictions of a report: the questions, every metric, and the reasons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

from icmodel.dataset import Dataset
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
from icmodel.usecase import Answer, CandidateResult, Evaluation

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
    """The question of each stream, and every metric with its interval and basis."""
    yield Text(
        f"{INTERVAL} The basis of a number is the weakest it rests on; all are listed from the "
        "strongest."
    )
    yield Fold("What the bases mean", (Facts(tuple(MEANINGS.items())),))
    chosen = evaluation.chosen
    for answer in chosen.answers:
        yield Heading(f"{chosen.name}: {answer.stream}")
        yield from _answer(answer)
    for candidate in evaluation.candidates:
        if candidate is not chosen:
            yield Fold(f"Predictions of {candidate.name}", tuple(_folded(candidate)))


def _folded(candidate: CandidateResult) -> Iterator[Block]:
    for answer in candidate.answers:
        yield Heading(f"{candidate.name}: {answer.stream}")
        yield from _answer(answer)


def _answer(answer: Answer) -> Iterator[Block]:
    yield Facts(tuple(asked(answer.scenario)))
    if answer.prediction is None:
        yield Text(f"No prediction: {answer.why}.")
    else:
        known = {n: e for n, e in answer.prediction.metrics.items() if not e.absent}
        yield Table(
            f"Predicted for {answer.stream}",
            ("metric", "#value", "#90 % interval", "rests on"),
            tuple(_metric(name, estimate) for name, estimate in known.items()),
        )
        absent = {n: e.why for n, e in answer.prediction.metrics.items() if e.absent}
        if absent:
            told = tuple(f"{metric_name(name)}: {why}" for name, why in absent.items())
            yield Fold(f"{plural(len(absent), 'metric')} without a number", (Items("", told),))
    if answer.derivations:
        yield derivation_table(f"Rates for {answer.stream}", answer.derivations)


def asked(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """The parameters of a scenario, as names and texts."""
    yield "protocol", scenario.protocol
    yield "payload", quantity("payload_bytes", scenario.payload_bytes)
    if scenario.rate_fps is None:
        yield "rate", "as fast as it goes"
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


def _metric(name: str, estimate: Estimate) -> tuple[Cell, ...]:
    others = [basis for basis in estimate.bases if basis != estimate.basis]
    rests = f"{estimate.basis}; with {', '.join(others)}" if others else estimate.basis
    return (
        Cell(metric_name(name), name=name),
        Cell(estimated(name, estimate)),
        Cell(interval(name, estimate)),
        Cell(rests, note="" if estimate.basis == EXTRAPOLATED else estimate.why),
    )


def reasons(evaluation: Evaluation) -> Iterator[Block]:
    """The reasons of the judged candidate's predictions."""
    predicted = [one for one in evaluation.chosen.answers if one.prediction is not None]
    if not predicted:
        yield Text(f"There is no prediction of {evaluation.candidate} to explain.")
    for answer in predicted:
        if answer.prediction is not None:
            yield Heading(f"{evaluation.candidate}: {answer.stream}")
            yield from explained(answer.prediction)


def explained(prediction: Prediction) -> Iterator[Block]:
    """The bounds of the goodput and the terms of the mean latency."""
    bounds = dict(prediction.bounds)
    if bounds:
        by = f", limited by {by}" if (by := limit_name(prediction.bottleneck)) else ""
        yield Text(f"The goodput is the least of its bounds{by}.")
        yield Bars("Bounds of the goodput", tuple(_bound_bars(bounds)))
    if prediction.terms:
        mean = quantity("latency_mean_s", prediction.metrics["latency_mean_s"].value)
        yield Text(f"The terms of the latency add up to its mean, {mean}.")
        yield Bars("Terms of the mean latency", tuple(_term_bars(dict(prediction.terms))))
    else:
        yield Text("There is no one-way latency to explain.")


def _bound_bars(bounds: dict[str, float]) -> Iterator[Bar]:
    finite = [value for value in bounds.values() if math.isfinite(value)]
    longest, least = max(finite, default=1.0), min(finite, default=0.0)
    for name, value in bounds.items():
        share = 0.0 if math.isnan(value) else min(value / longest, 1.0)
        mark = "decides" if value == least else ""
        yield Bar(name, quantity("goodput_bps", value), share, mark)


def _term_bars(terms: dict[str, float]) -> Iterator[Bar]:
    longest = max(terms.values())
    for name, value in terms.items():
        share = max(value / longest, 0.0) if longest > 0 else 0.0
        mark = "longest" if value == longest else ""
        yield Bar(name, quantity("latency_mean_s", value), share, mark)


def _used(candidates: Iterable[CandidateResult]) -> tuple[UsedRow, ...]:
    """Every dataset row used by some candidates, once, in the dataset's order."""
    predictions = (
        answer.prediction
        for candidate in candidates
        for answer in candidate.answers
        if answer.prediction is not None
    )
    rows = {row.line: row for prediction in predictions for row in prediction.rows}
    return tuple(rows[line] for line in sorted(rows))


def _by_basis(rows: Iterable[UsedRow]) -> str:
    counts = Counter(row.basis for row in rows)
    return ", ".join(f"{counts[basis]} {basis}" for basis in BASES if basis in counts)


def rows(evaluation: Evaluation) -> Iterator[Block]:
    """The rows of the dataset used by the predictions, with their sources."""
    chosen = _used([evaluation.chosen])
    every = _used(evaluation.candidates)
    if not every:
        yield Text(f"No row of {evaluation.data.id} was used: nothing could be predicted.")
        return
    yield Text(_counted(evaluation.candidate, chosen, evaluation.data))
    if len(evaluation.candidates) > 1:
        yield Text(_counted("all candidates group_by_key", every, evaluation.data))
    yield _origins(every)
    yield Fold(f"The rows themselves ({len(every)})", (_row_table(every, evaluation.data),))


def _counted(whose: str, rows: tuple[UsedRow, ...], data: Dataset) -> str:
    if not rows:
        return f"The predictions of {whose} rest on no row of {data.id}."
    return (
        f"The predictions of {whose} rest on {plural(len(rows), 'row')} of {data.id}: "
        f"{_by_basis(rows)}."
    )


def _origins(rows: tuple[UsedRow, ...]) -> Table:
    """Where the rows come from: each source, and how many of each basis."""
    lines = tuple(
        (Cell(source), Cell(str(len(of_it))), Cell(_by_basis(of_it)))
        for source, of_it in sorted(group_by_key((row.source, row) for row in rows).items())
    )
    return Table("Where the rows come from", ("source", "#rows", "basis"), lines)


def _row_table(rows: tuple[UsedRow, ...], data: Dataset) -> Table:
    return Table(
        f"Rows of {data.id}, points.csv",
        ("#line", "metric", "#payload", "#load", "#value", "basis", "source"),
        tuple(_row(row) for row in rows),
    )


def _row(row: UsedRow) -> tuple[Cell, ...]:
    payload = "–" if row.payload_bytes is None else quantity("payload_bytes", row.payload_bytes)
    load = "–" if row.load_bps is None else quantity("load_bps", row.load_bps)
    value = quantity(row.metric, row.value)
    texts = (str(row.line), metric_name(row.metric), payload, load, value, row.basis, row.source)
    return tuple(Cell(text) for text in texts)


def sources(evaluation: Evaluation) -> Iterator[Block]:
    """The use case and the dataset with citation and licence."""
    case, data = evaluation.usecase, evaluation.data
    yield Heading("The use case")
    pairs = (("use case", case.name), ("stands in", case.source), ("citation", case.citation))
    yield Facts(tuple((name, text) for name, text in pairs if text))
    yield Heading("The dataset")
    named = (
        ("dataset", f"{data.id}, edition {data.document.get('edition', 'not said')}"),
        ("title", data.title),
        ("citation", data.citation),
        ("licence", data.licence),
        ("measured with", _tool(data)),
    )
    yield Facts(tuple((name, text) for name, text in named if text))
    hosts = tuple(_hosts(data))
    if hosts:
        yield Items("Hosts", hosts)


def _tool(data: Dataset) -> str:
    tool = data.document.get("tool")
    if not isinstance(tool, dict):
        return ""
    return f"{tool.get('name', 'not named')} (version: {tool.get('version', 'not stated')})"


def _hosts(data: Dataset) -> Iterator[str]:
    hosts = data.document.get("hosts", [])
    for host in hosts if isinstance(hosts, list) else []:
        parts = {key: str(value) for key, value in host.items() if key != "name"}
        said = "; ".join(f"{key}: {value}" for key, value in parts.items())
        yield f"{host.get('name', 'not named')}: {said}" if said else str(host.get("name"))


def limits(evaluation: Evaluation) -> Iterator[Block]:
    """What the numbers do not cover: assumed, extrapolated, noted, known."""
    chosen = evaluation.chosen
    used = _used([chosen])
    assumed = sum(row.basis == "assumed" for row in used)
    if used:
        yield Text(
            f"{assumed} of the {plural(len(used), 'row')} under {chosen.name} "
            f"{'is' if assumed == 1 else 'are'} assumed: by rules of the dataset's README, not "
            "measured."
        )
    for title, found in (
        ("Beyond the data", _extrapolated(chosen)),
        (f"Notes on {chosen.name}", _notes(chosen)),
        ("Notes", evaluation.notes),
        ("Known limits of the dataset", evaluation.data.known_limits),
        ("Known limits of the use case", evaluation.usecase.known_limits),
    ):
        if items := tuple(found):
            yield Items(title, items)
    for candidate in evaluation.candidates:
        items = (*_extrapolated(candidate), *_notes(candidate))
        if candidate is not chosen and items:
            yield Fold(f"Notes on {candidate.name}", (Items("", tuple(items)),))


def _extrapolated(candidate: CandidateResult) -> Iterator[str]:
    """Extrapolated metrics, those with the same reason group_by_key."""
    for answer in candidate.answers:
        metrics = {} if answer.prediction is None else answer.prediction.metrics
        reasons = (
            (estimate.why or EXTRAPOLATED, metric_name(name))
            for name, estimate in metrics.items()
            if estimate.basis == EXTRAPOLATED
        )
        for why, names in group_by_key(reasons).items():
            yield f"{answer.stream}: {why} ({'; '.join(names)})"


def _notes(candidate: CandidateResult) -> Iterator[str]:
    yield from candidate.notes
    for answer in candidate.answers:
        if answer.prediction is None:
            yield f"{answer.stream}: {answer.why}"
        yield from (f"{answer.stream}: {note}" for note in answer.notes)
