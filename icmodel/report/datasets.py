"""Report pages of a dataset (metrics, coverage, hosts, sources) and of a validation (errors, worst points)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.dataset.rows import ABSOLUTE, kind
from icmodel.documents import group_by_key
from icmodel.estimate import BASES, estimated, interval, metric_name, plural, quantity
from icmodel.report.blocks import Block, Cell, Facts, Fold, Items, Sections, Table, Text, page_json
from icmodel.validate import Validation


def dataset_page(data: Dataset) -> dict[str, Any]:
    """Return the report page of a dataset as JSON: metrics and ranges, coverage, hosts, sources and limits."""
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
        ("metrics", "What is measured", metric_tables(data)),
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
    return page_json(data.title, f"{link.kind}{rate}", data.whose, None, sections)


def metric_tables(data: Dataset) -> Iterator[Block]:
    """Yield a table of metrics for each protocol of a dataset.

    A table row gives one metric: number of dataset rows, spans of payload, load and cores, and bases (kinds of
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


def _coverage(data: Dataset) -> Iterator[Block]:
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
        yield Text(
            "No coverage is stored: too few rows are measured or tabulated to leave some out."
        )


# --- validation -------------------------------------------------------------------------------


def validation_page(found: Validation) -> dict[str, Any]:
    """Return the report page of a validation as JSON: errors, coverage of left-out rows, worst points."""
    sections: Sections = (
        ("errors", "Errors and coverage", [error_table(found)]),
        ("worst", "Worst points", [worst_table(found)]),
        ("stored", "Coverage stored with the dataset", list(_coverage(found.data))),
    )
    folds = sum(trial.folds for trial in found.trials)
    question = (
        f"{plural(folds, 'row')} left out, one at a time, and predicted from the rest. Errors are "
        "relative; those of ratios are absolute."
    )
    title = f"{found.data.id}, variant {found.variant}"
    return page_json(title, question, "", None, sections)


def error_table(found: Validation) -> Block:
    """Return a table of errors and coverage by metric, or a sentence if nothing is scored."""
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
    """Return a prediction error as text.

    A relative error is in per cent, an absolute error is a plain number, and an unknown error is a dash.
    """
    if number is None or number != number:
        return "–"
    return f"{number:.3g}" if of == ABSOLUTE else f"{100 * number:.3g} %"
