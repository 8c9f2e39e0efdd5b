"""The basis of a report: rows, sources and limits of validity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from icmodel.dataset import Dataset
from icmodel.estimate import BASES, UsedRow
from icmodel.grouping import together
from icmodel.report.blocks import Block, Cell, Facts, Fold, Heading, Items, Table, Text
from icmodel.usecase import CandidateResult, Evaluation
from icmodel.wording import EXTRAPOLATED, metric_name, plural, quantity


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
        yield Text(_counted("all candidates together", every, evaluation.data))
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
        for source, of_it in sorted(together((row.source, row) for row in rows).items())
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
    """Extrapolated metrics, those with the same reason together."""
    for answer in candidate.answers:
        metrics = {} if answer.prediction is None else answer.prediction.metrics
        reasons = (
            (estimate.why or EXTRAPOLATED, metric_name(name))
            for name, estimate in metrics.items()
            if estimate.basis == EXTRAPOLATED
        )
        for why, names in together(reasons).items():
            yield f"{answer.stream}: {why} ({'; '.join(names)})"


def _notes(candidate: CandidateResult) -> Iterator[str]:
    yield from candidate.notes
    for answer in candidate.answers:
        if answer.prediction is None:
            yield f"{answer.stream}: {answer.why}"
        yield from (f"{answer.stream}: {note}" for note in answer.notes)
