"""Pages of reports as JSON: their blocks (texts, tables, plots), and data of drawings.

A worker process calls these functions. Each takes the parameters of a request, and returns the page as JSON in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from icmodel import units
from icmodel.dataset import Dataset, load
from icmodel.dataset.rows import kind
from icmodel.documents import group_by_key
from icmodel.errors import IcmodelError, Mistake
from icmodel.estimate import BASES, estimated, interval, metric_name, plural, quantity
from icmodel.interconnects import compare_interconnects, ranked
from icmodel.report import evaluation, verdicts
from icmodel.report import interconnects as compared
from icmodel.report import system_tables as tables
from icmodel.report.blocks import Block, Cell, Facts, Fold, Items, Sections, Table, Text, page_json
from icmodel.report.system_boxes import summarise
from icmodel.report.system_drawing import stream_paths, system_svg
from icmodel.report.validation import error_text
from icmodel.system import check, predict
from icmodel.system.files import with_system_notes
from icmodel.usecase import evaluate
from icmodel.validate import Validation, ValidationOptions, validate
from icmodel.validate.validation import LEAVE_ONE
from icmodel.web.jobs import body_of, ingest, system_of, usecase_of
from icmodel.web.problems import problem_of
from icmodel.web.work import check_dataset

MOST_FOLDS = 40
"""Maximum number of left-out rows on the page of a validation. The limit keeps the waiting time short."""
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
"""Pattern of the style sheet inside a drawing.

The page loads the style sheet from a file, since its Content-Security-Policy allows no inline style.
"""


def refusal(error: IcmodelError) -> bytes:
    """Return an error and the mistakes of a TOML text as JSON, each mistake with its line. An unknown line is null."""
    told = problem_of(error)
    mistakes = told.mistakes or (Mistake(told.detail),)
    return body_of({"error": told.detail, "mistakes": [one._asdict() for one in mistakes]})


# --- use cases --------------------------------------------------------------------------------


def usecase_page(toml: str, dataset: str, candidate: str, strict: bool) -> bytes:
    """Return the page of a use case: verdicts, derivation, reasons and limits."""
    check_dataset(dataset)
    try:
        case = usecase_of(None, toml)
        chosen = candidate if candidate in [one.name for one in case.candidates] else None
        found = with_system_notes(evaluate(case, load(dataset), None, chosen, strict=strict))
    except IcmodelError as error:
        return refusal(error)
    sections: Sections = (
        ("verdicts", "Verdicts", verdicts.verdicts(found)),
        ("requirements", "What is required", verdicts.required(found)),
        ("reasons", "Why", evaluation.reasons(found)),
        ("limits", "Limits of validity", evaluation.limits(found)),
    )
    basis = f"{found.data.title} ({found.data.id}), variant {found.variant}"
    page = page_json(case.title, case.question, basis, verdicts.conclude(found), sections)
    names = [one.name for one in case.candidates]
    return body_of({**page, "candidate": found.candidate, "candidates": names})


def compare_page(usecase: str | None, toml: str | None) -> bytes:
    """Return the page that compares all interconnects for a use case.

    It has a table of verdicts, the measurements that would settle undecided verdicts, and the reasons of each verdict.
    """
    try:
        found = compare_interconnects(usecase_of(usecase, toml))
    except IcmodelError as error:
        return refusal(error)
    best_first = ranked(found)
    open_ones = compared.measurements(found) or ("No verdict is open.",)
    folds = (
        Fold(compared.link_name(one.row), (Items("", tuple(compared.why(one))),), one.row.outcome)
        for one in best_first
    )
    sections: Sections = (
        ("links", "Interconnects", [compared.link_table(best_first)]),
        ("open", "Measurements that would decide", [Items("", open_ones)]),
        ("reasons", "Why", folds),
        ("rules", "Rules of the comparison", map(Text, compared.RULES)),
    )
    answer = compared.conclude(found, [one.row for one in best_first])
    return body_of(page_json(found.usecase.title, found.usecase.question, "", answer, sections))


# --- systems ----------------------------------------------------------------------------------


def system_page(toml: str) -> bytes:
    """Return the page of a system: drawing, tables, and the path and latency terms of each stream."""
    try:
        system = system_of(None, toml).checked()
        found = predict(system)
    except IcmodelError as error:
        return refusal(error)
    summary = summarise(found)
    problems = tuple(f"{one.kind}: {one.text}" for one in check(system))
    titled = (("Notes", found.notes), ("Known limits of the system", system.known_limits))
    sections: Sections = (
        ("requirements", "What is required", tables.requirements(found)),
        ("groups", "Groups of streams", tables.streams(found)),
        ("links", "Links", [tables.links(summary)]),
        ("devices", "Devices", [tables.devices(found, summary)]),
        ("findings", "Findings of the check", [Items("", problems or ("None.",))]),
        (
            "limits",
            "Limits of validity",
            [Items(name, tuple(some)) for name, some in titled if some],
        ),
    )
    basis = verdicts.ground_text(found.datasets, system.states_devices)
    page = page_json(system.title, "", basis, tables.conclude(found), sections)
    drawn = STYLE.sub("", system_svg(found), count=1)
    return body_of({**page, "svg": drawn, "streams": list(stream_paths(found, summary))})


# --- datasets ---------------------------------------------------------------------------------


def ingested(*asked: Any) -> bytes:
    """Return the result of an ingest, or the reason if no file can be used."""
    try:
        return ingest(*asked)
    except IcmodelError as error:
        return refusal(error)


def dataset_page(name: str) -> bytes:
    """Return the page of a dataset: metrics with their ranges, coverage, known limits, hosts and sources."""
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
        ("metrics", "Measured metrics", metric_tables(data)),
        ("coverage", "Coverage of its intervals", coverage_tables(data)),
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
    return body_of(page_json(data.title, f"{link.kind}{rate}", data.whose, None, sections))


def metric_tables(data: Dataset) -> Iterator[Block]:
    """Yield a table of metrics for each protocol of a dataset.

    The row of a metric has the number of dataset rows, the ranges of payload, load and cores, and the bases (kinds of
    evidence).
    """
    yield Text("Within these ranges the model interpolates; beyond them it extrapolates.")
    columns = ("metric", "rows", "payload", "load", "cores", "basis")
    for protocol in data.protocols:
        rows = []
        of_protocol = [point for point in data.points if point.protocol == protocol]
        for metric, some in group_by_key((one.metric, one) for one in of_protocol).items():
            spans = []
            for name in ("payload_bytes", "load_bps", "cores"):
                known = sorted(
                    {number for one in some if (number := getattr(one, name)) is not None}
                )
                ends = dict.fromkeys((*known[:1], *known[-1:]))
                spans.append(" … ".join(quantity(name, end) for end in ends) or "not stated")
            bases = ", ".join(basis for basis in BASES if any(one.basis == basis for one in some))
            rows.append(tuple(map(Cell, (metric_name(metric), str(len(some)), *spans, bases))))
        counted = f"{protocol}: {plural(len(rows), 'metric')}, {plural(len(of_protocol), 'row')}"
        yield Fold(counted, (Table("", columns, tuple(rows), ("rows",)),))


def coverage_tables(data: Dataset) -> Iterator[Block]:
    """Yield a table of the stored coverage for each variant of the model.

    Coverage is the share of left-out dataset rows inside their predicted 90 % intervals.
    """
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
        yield Text("No coverage is stored: too few rows are measured or tabulated.")


# --- validation -------------------------------------------------------------------------------


def validation_page(dataset: str, variant: str) -> bytes:
    """Return the page of a validation: errors and coverage of left-out rows, and the worst points."""
    check_dataset(dataset)
    data = load(dataset)
    options = ValidationOptions(kinds=(LEAVE_ONE,), most=MOST_FOLDS, worst=4)
    found = validate(data, variant or data.default_variant, options)
    sections: Sections = (
        ("errors", "Errors and coverage", [error_table(found)]),
        ("worst", "Worst points", [worst_table(found)]),
        ("stored", "Coverage stored with the dataset", coverage_tables(data)),
    )
    folds = sum(trial.folds for trial in found.trials)
    question = (
        f"{plural(folds, 'row')} left out, one at a time, and predicted from the rest. Errors are "
        "relative; errors of ratios are absolute."
    )
    title = f"{data.id}, variant {found.variant}"
    return body_of(page_json(title, question, "", None, sections))


def error_table(found: Validation) -> Block:
    """Return a table of errors and coverage by metric, or a sentence if nothing is scored.

    Coverage is the share of left-out rows inside their predicted intervals.
    """
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
                *(error_text(score.kind, one) for one in numbers),
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


def worst_table(found: Validation) -> Block:
    """Return a table of the points with the greatest errors, or a sentence if nothing is scored."""
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
                    error_text(kind(metric), one.error),
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
