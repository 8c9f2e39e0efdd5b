"""Documents of the pages beside the what-if page: the blocks of the reports, and what a drawing is about.

Each function is called in a worker process: words in, the bytes of a JSON document out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

from icmodel import units
from icmodel.dataset import Dataset, Point, load
from icmodel.dataset.repeats import ABSOLUTE, kind
from icmodel.documents import group_by_key, number_or_none
from icmodel.errors import IcmodelError
from icmodel.estimate import BASES, estimated, interval, limit_name, metric_name, plural, quantity
from icmodel.interconnects import compare_interconnects
from icmodel.questions.judging import evaluate_with_notes
from icmodel.report import interconnects as compared
from icmodel.report import predictions, verdicts
from icmodel.report.blocks import Block, Cell, Conclusion, Facts, Fold, Items, Table, Text
from icmodel.report.systems import tables
from icmodel.report.systems.drawing import system_svg
from icmodel.report.systems.summary import Summary, outcomes, summarise
from icmodel.requirement import OUTCOMES
from icmodel.system import SystemPrediction, check, predict
from icmodel.system.prediction.result import StreamPrediction
from icmodel.validate import Validation, Wishes, validate
from icmodel.validate.validation import LEAVE_ONE
from icmodel.web.jobs import body_of, checked, system_of, usecase_of
from icmodel.web.whatif import bars
from icmodel.web.work import check_dataset

MOST_STREAMS = 400
"""Greatest number of streams of a system that the page lists, the worst first."""
MOST_FOLDS = 40
"""Greatest number of rows that one validation leaves out, so that a page can wait for the answer."""
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
"""Style sheet inside a drawing; the page has it in a file, since its policy allows no inline style."""

VERDICT = compared.COLUMNS.index("verdict")
Sections = Iterable[tuple[str, str, Iterable[Block]]]


def block_json(block: Block) -> dict[str, Any]:
    """Return the JSON form of a block: its kind, in lower case, and its fields."""
    return {"kind": type(block).__name__.lower(), **_fields(block)}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _form(getattr(value, field.name)) for field in fields(value)}


def _form(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_form(one) for one in value]
    if isinstance(value, Text | Fold | Table | Items | Facts):
        return block_json(value)
    if isinstance(value, float):
        return number_or_none(value)
    return _fields(value) if hasattr(value, "__dataclass_fields__") else value


def document(
    title: str, question: str, basis: str, answer: Conclusion | None, sections: Sections
) -> dict[str, Any]:
    """Return a report as JSON; without an answer the sentence is empty."""
    answer = answer or Conclusion("", "", ())
    return {
        "title": title,
        "question": question,
        "basis": basis,
        "outcome": answer.outcome,
        "sentence": answer.sentence,
        "parts": answer.parts,
        "sections": [
            {"anchor": anchor, "title": name, "blocks": [block_json(block) for block in blocks]}
            for anchor, name, blocks in sections
        ],
    }


def refusal(error: IcmodelError, toml: str) -> bytes:
    """Return a mistake of a text as JSON, with its line; the line is null if the message names no place."""
    return body_of({"error": str(error), "line": line_of(toml, str(error))})


# --- a mistake's line -------------------------------------------------------------------------

AT_LINE = re.compile(r"\(at line (\d+), column")
PLACE = re.compile(r"([a-z_]+) no\. (\d+)")
WORDS = re.compile(r"'([\w.-]+)'|([\w-]+)(?=:| =| is )|([\w-]+)")


def line_of(toml: str, message: str) -> int | None:
    r"""Return the line of a TOML text that a message is about.

    The message names a line, or a table by its number and a key in the table, or a name in the text.

    Examples
    --------
    >>> line_of('[[links]]\nrate = "1 Gb/s"\n[[links]]\nrate = "1 Gx"', "links no. 2: rate: ...")
    4
    """
    if found := AT_LINE.search(message):
        return int(found[1])
    lines = toml.splitlines()
    first, last = 0, len(lines)
    if place := PLACE.search(message):
        starts = [at for at, line in enumerate(lines) if line.strip() == f"[[{place[1]}]]"]
        number = int(place[2])
        if number <= len(starts):
            first = starts[number - 1]
            last = starts[number] if number < len(starts) else len(lines)
        message = message[place.end() :]
    found_words = ["".join(groups) for groups in WORDS.findall(message)]
    quoted: list[str] = re.findall(r"'([^']+)'", message)
    for word in (*quoted, *found_words[:8]):
        key = re.compile(rf"(^|[{{,\s]){re.escape(word)}\s*=|[\"']{re.escape(word)}[\"']")
        for at in range(first, last):
            if key.search(lines[at]):
                return at + 1
    return first + 1 if place else None


# --- use cases --------------------------------------------------------------------------------


def usecase_page(toml: str, dataset: str, candidate: str, strict: bool) -> bytes:
    """Return the page of a use case: verdicts, derivation, reasons and limits."""
    check_dataset(dataset)
    try:
        case = usecase_of(None, toml)
        chosen = candidate if candidate in [one.name for one in case.candidates] else None
        found = evaluate_with_notes(case, load(dataset), None, chosen, strict=strict)
    except IcmodelError as error:
        return refusal(error, toml)
    sections: Sections = (
        ("verdicts", "Verdicts", verdicts.verdicts(found)),
        ("requirements", "What is required", verdicts.required(found)),
        ("reasons", "Why", predictions.reasons(found)),
        ("limits", "Limits of validity", predictions.limits(found)),
    )
    basis = f"{found.data.title} ({found.data.id}), variant {found.variant}"
    answer = verdicts.conclude(found)
    page = document(case.title, case.question, basis, answer, sections)
    names = [one.name for one in case.candidates]
    return body_of({**page, "candidate": found.candidate, "candidates": names})


def compare_page(usecase: str) -> bytes:
    """Return the page of a use case on every interconnect: a table, measurements, and reasons."""
    found = compare_interconnects(usecase_of(usecase, None))
    _, counts = compared.headline(found)
    rows = []
    for row in found.rows:
        cells = list(map(Cell, compared.row_cells(row)))
        cells[VERDICT] = Cell("", outcome=row.outcome)
        rows.append(tuple(cells))
    open_ones = compared.measurements(found) or ("Nothing is open.",)
    folds = (
        Fold(compared.link_name(row), (Items("", tuple(compared.reasons(row))),), row.outcome)
        for row in found.rows
    )
    sections: Sections = (
        ("links", "Interconnects", [Table("", compared.COLUMNS, tuple(rows), compared.NUMBERS)]),
        ("open", "What would decide", [Items("", open_ones)]),
        ("reasons", "Why", folds),
        ("rules", "How the table is made", map(Text, compared.RULES)),
    )
    answer = Conclusion(found.verdict, f"{counts}.", ())
    return body_of(document(found.usecase.title, found.usecase.question, "", answer, sections))


# --- systems ----------------------------------------------------------------------------------


def system_page(toml: str) -> bytes:
    """Return the page of a system: its drawing, tables, and the way and the terms of each stream."""
    try:
        system = checked(system_of(None, toml))
        found = predict(system)
    except IcmodelError as error:
        return refusal(error, toml)
    summary = summarise(found)
    problems = tuple(f"{one.kind}: {one.text}" for one in check(system))
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    sections: Sections = (
        ("requirements", "What is required", tables.requirements(found)),
        ("groups", "Groups of streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary)]),
        ("findings", "What the check found", [Items("", problems or ("Nothing.",))]),
        (
            "limits",
            "Limits of validity",
            [Items(name, tuple(some)) for name, some in titled if some],
        ),
    )
    basis = ", ".join(found.datasets) or "theory alone"
    page = document(system.title, "", basis, tables.conclude(found), sections)
    drawn = STYLE.sub("", system_svg(found), count=1)
    return body_of({**page, "svg": drawn, "streams": list(_streams(found, summary))})


def _streams(found: SystemPrediction, summary: Summary) -> Iterator[dict[str, Any]]:
    """Yield the streams, the worst first: numbers, terms, and their cables and boxes in drawing order."""
    drawn = [one.cable for one in summary.cables if not one.cable.inside]
    cable_of = {
        port: at
        for at, cable in enumerate(drawn)
        for link in cable.links
        for port in found.links[link.name].ports
    }
    box_of, of = summary.shape.box_of, outcomes(found)
    rank = {outcome: at for at, outcome in enumerate(OUTCOMES)}
    for name in sorted(found.streams, key=lambda name: -rank.get(of[name], -1))[:MOST_STREAMS]:
        one = found.streams[name]
        nodes = (
            one.stream.source,
            one.stream.sink,
            *(found.system.ports[p].node for p in one.stream.path),
        )
        yield {
            "name": name,
            "outcome": of[name],
            "goodput": _metric_text(one, "goodput_bps"),
            "latency": _metric_text(one, "latency_mean_s"),
            "path": list(one.stream.path),
            "cables": sorted({cable_of[port] for port in one.stream.path if port in cable_of}),
            "boxes": sorted({box_of[node] for node in nodes}),
            "facts": list(_stream_facts(one)),
            "terms": [bar.model_dump() for bar in bars("latency_mean_s", one.terms, max)],
            "notes": list(one.notes),
        }


def _stream_facts(one: StreamPrediction) -> Iterator[tuple[str, str]]:
    stream = one.stream
    yield "sends", f"{stream.protocol}, {units.format_bytes(stream.payload_bytes)} a frame"
    for metric in (
        "goodput_bps",
        "latency_mean_s",
        "latency_max_s",
        "message_latency_s",
        "loss_rate",
    ):
        if metric in one.metrics:
            estimate = one.metrics[metric]
            span = interval(metric, estimate)
            notes = ", ".join(filter(None, (span, estimate.basis))) or estimate.why
            yield metric_name(metric), f"{_metric_text(one, metric)} ({notes})"
    yield "worst case", tables.bound_text([one]) if one.latency_bound else one.no_bound
    where = f" at {one.bottleneck_at}" if one.bottleneck_at else ""
    yield "limited by", f"{limit_name(one.bottleneck) or 'unknown'}{where}"
    if one.arrival.why:
        yield "arrival", one.arrival.why


def _metric_text(one: StreamPrediction, metric: str) -> str:
    if tables.grows(metric, [one]):
        return "grows"
    return estimated(metric, one.metrics[metric]) if metric in one.metrics else "unknown"


# --- datasets ---------------------------------------------------------------------------------


def dataset_page(name: str) -> bytes:
    """Return the page of a dataset: its metrics and ranges, coverage, hosts, sources and limits."""
    check_dataset(name)
    data = load(name)
    tool: Any = data.document.get("tool", {})
    pairs = (
        ("citation", data.citation),
        ("licence", data.licence),
        ("measured with", f"{tool.get('name', '')}, {tool.get('version', '')}".strip(", ")),
        ("sha256", data.sha256),
    )
    hosts: Any = data.document.get("hosts", [])
    described = tuple("; ".join(f"{key}: {text}" for key, text in one.items()) for one in hosts)
    absent = tuple(
        f"{metric_name(str(one['metric']))}, {one.get('protocol', 'any protocol')}: {one['reason']}"
        for one in data.absences
    )
    sources: dict[str, int] = {}
    for point in data.points:
        sources[point.source] = sources.get(point.source, 0) + 1
    cells = tuple((Cell(source), Cell(str(count))) for source, count in sorted(sources.items()))
    sections: Sections = (
        ("metrics", "What is measured", _metric_tables(data)),
        ("coverage", "Coverage of its intervals", list(_coverage(data))),
        ("limits", "Known limits", [Items("", data.known_limits), Items("Without rows", absent)]),
        ("hosts", "Hosts", [Items("", described)]),
        (
            "sources",
            "Sources",
            [Facts(pairs), Table("Rows by source", ("source", "rows"), cells, ("rows",))],
        ),
    )
    link = data.interconnect
    rate = "" if link.line_rate_bps is None else f", {units.format_bps(link.line_rate_bps)}"
    return body_of(document(data.title, f"{link.kind}{rate}", data.whose, None, sections))


def _metric_tables(data: Dataset) -> Iterator[Block]:
    """Yield for each protocol a table of its metrics: rows, payloads, loads, cores and bases."""
    yield Text("Within these ranges the model interpolates; beyond them it extrapolates.")
    columns = ("metric", "rows", "payload", "load", "cores", "basis")
    for protocol in data.protocols:
        rows = []
        of_protocol = [point for point in data.points if point.protocol == protocol]
        for metric, some in group_by_key((one.metric, one) for one in of_protocol).items():
            spans = (_span(some, name) for name in ("payload_bytes", "load_bps", "cores"))
            bases = ", ".join(basis for basis in BASES if any(one.basis == basis for one in some))
            rows.append(tuple(map(Cell, (metric_name(metric), str(len(some)), *spans, bases))))
        counted = f"{protocol}: {plural(len(rows), 'metric')}, {plural(len(of_protocol), 'row')}"
        yield Fold(counted, (Table("", columns, tuple(rows), ("rows",)),))


def _span(some: Iterable[Point], name: str) -> str:
    """Return least and greatest value of an axis as text."""
    values = sorted({value for one in some if (value := getattr(one, name)) is not None})
    ends = [quantity(name, value) for value in dict.fromkeys((*values[:1], *values[-1:]))]
    return " … ".join(ends) or "not stated"


def _coverage(data: Dataset) -> Iterator[Block]:
    """Yield the stored coverage by variant; 90 % is promised."""
    for variant, kinds in data.coverage.items():
        rows = tuple(
            (
                Cell(kind_of),
                Cell(metric_name(metric)),
                Cell(str(one["intervals"])),
                Cell(units.format_ratio(one["coverage"], 3)),
                Cell(
                    " … ".join(
                        units.format_ratio(one[f"coverage_{end}"], 3) for end in ("low", "high")
                    )
                ),
            )
            for kind_of, fold in kinds.items()
            for metric, one in fold["metrics"].items()
            if one.get("coverage") is not None
        )
        columns = ("left out", "metric", "rows", "inside", "95 % of it")
        yield Fold(f"Variant {variant}", (Table("", columns, rows, columns[2:]),))
    if not data.coverage:
        yield Text(
            "No coverage is stored: too few rows are measured or tabulated to leave some out."
        )


# --- validation -------------------------------------------------------------------------------


def validation_page(dataset: str, variant: str) -> bytes:
    """Return the page of a validation: errors and coverage of left-out rows, and the worst points."""
    check_dataset(dataset)
    data = load(dataset)
    wishes = Wishes(kinds=(LEAVE_ONE,), most=MOST_FOLDS, worst=4)
    found = validate(data, variant or data.default_variant, wishes)
    sections: Sections = (
        ("errors", "Errors and coverage", [_errors(found)]),
        ("worst", "Worst points", [_worst(found)]),
        ("stored", "Coverage stored with the dataset", list(_coverage(data))),
    )
    folds = sum(trial.folds for trial in found.trials)
    question = (
        f"{plural(folds, 'row')} left out, one at a time, and predicted from the rest. Errors are "
        "relative; those of ratios are absolute."
    )
    title = f"{data.id}, variant {found.variant}"
    return body_of(document(title, question, "", None, sections))


def _errors(found: Validation) -> Block:
    rows = []
    for trial in found.trials:
        for metric, tested in trial.metrics.items():
            score, errors = tested.score, tested.score.errors
            if not score.n:
                continue
            noise = found.noise.get(metric)
            covered = "–" if score.coverage is None else units.format_ratio(score.coverage.share, 3)
            numbers = (
                errors.median,
                errors.p95,
                errors.greatest,
                None if noise is None else noise.run,
            )
            texts = [
                metric_name(metric),
                str(score.n),
                *(_error(score.kind, one) for one in numbers),
                covered,
            ]
            rows.append(tuple(map(Cell, texts)))
    if not rows:
        return Text("No metric has 30 measured or tabulated rows, so nothing is scored.")
    columns = (
        "metric",
        "rows",
        "median",
        "95 %",
        "greatest",
        "noise of a run",
        "inside its interval",
    )
    return Table("", columns, tuple(rows), columns[1:])


def _worst(found: Validation) -> Block:
    rows = []
    for trial in found.trials:
        for metric, tested in trial.metrics.items():
            for one in tested.worst:
                point, estimate = one.point, one.estimate
                options = found.data.options_of(point)
                where = ", ".join(
                    [point.protocol, *(f"{key} = {text}" for key, text in options.items())]
                )
                size = (
                    "" if point.payload_bytes is None else units.format_bytes(point.payload_bytes)
                )
                load_text = "" if point.load_bps is None else quantity("load_bps", point.load_bps)
                texts = (
                    metric_name(metric),
                    where,
                    size,
                    load_text,
                    quantity(metric, point.value),
                    estimated(metric, estimate),
                    interval(metric, estimate),
                    _error(kind(metric), one.error),
                )
                rows.append(tuple(map(Cell, texts)))
    if not rows:
        return Text("No point is scored.")
    columns = (
        "metric",
        "point",
        "payload",
        "load",
        "measured",
        "predicted",
        "90 % interval",
        "error",
    )
    return Table("", columns, tuple(rows), columns[2:])


def _error(of: str, number: float | None) -> str:
    """Return an error as text: relative in per cent, absolute as a number, unknown as a dash."""
    if number is None or number != number:
        return "–"
    return f"{number:.3g}" if of == ABSOLUTE else f"{100 * number:.3g} %"
