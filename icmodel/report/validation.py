"""Report of a validation: errors and coverage of left-out dataset rows, as a page, tables and a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from icmodel import __version__
from icmodel.dataset import Dataset, Point
from icmodel.dataset.dataset import PROMISED
from icmodel.dataset.rows import ABSOLUTE, kind
from icmodel.errors import ReportError
from icmodel.estimate import (
    Estimate,
    absent,
    fixed,
    metric_name,
    percent,
    plural,
    quantity,
    quantity_text,
)
from icmodel.plotting import BYTE_LABELS, CONFIG, QUIET, SCHEMA, UNLABELLED, WIDTH, Spec
from icmodel.report.blocks import (
    MOST_CHANGES,
    MOST_DOUBTS,
    MOST_NUMBERS,
    Block,
    Cell,
    Conclusion,
    Figure,
    Front,
    Items,
    Page,
    Section,
    Text,
)
from icmodel.report.blocks import Table as Shown
from icmodel.report.front import command, more_requirements, name_cell, repeat, sentences
from icmodel.report.masthead import PLAIN, Masthead
from icmodel.report.vega import COLOURS, LIMIT, PREDICTED, Row, nominal_channels
from icmodel.report.verdicts import margin_text
from icmodel.requirement import MET, OUTCOMES, Requirement, Verdict, judge, worst_outcome
from icmodel.table import Table
from icmodel.validate import Trial, Validation
from icmodel.validate.scores import Coverage, Score
from icmodel.validate.validation import HELD_OUT, KINDS, LEAVE_ONE, ValidationOptions

LIKE_QUESTIONS = (LEAVE_ONE, HELD_OUT)
"""Kinds of cross-validation folds that resemble a user's questions. They alone decide the verdict.

The other kinds leave out whole regions of the data.
"""
MOST_REASONS = 3
"""Maximum number of listed reasons for unanswered rows, by metric."""
RULE = "errors are relative; errors of ratios (loss_rate, CPU shares) are absolute"


def page(found: Validation, masthead: Masthead = PLAIN, file: str = "") -> Page:
    """Make the report of a validation: first page, then the tables of each kind of fold.

    Parameters
    ----------
    file : str
        Name of the report's file, printed in the command line that makes the report again.
    """
    data = found.data
    judged = verdicts(found)
    line = command(words(found), masthead, file or f"{data.id}-validated.html")
    sections = []
    for trial in found.trials:
        blocks: list[Block] = [_shown("Errors and coverage by metric", scores_table(found, trial))]
        regions = regions_table(trial)
        if trial.kind in LIKE_QUESTIONS and regions.rows:
            blocks.append(_shown("By region", regions))
        if any(tested.worst for tested in trial.metrics.values()):
            blocks.append(_shown("Worst points", worst_table(data, trial)))
        if lines := unanswered_lines(trial):
            blocks.append(Items("Without an answer", tuple(lines)))
        title = f"{trial.kind}, {plural(trial.folds, 'fold')}"
        sections.append(Section(trial.kind, title, tuple(blocks)))
    notes = [f"{metric}: {n} rows, too few to score" for metric, n in found.too_few.items()]
    sections.append(
        Section("notes", "Notes", (Text(f"In this report {RULE}."), Items("", tuple(notes))))
    )
    return Page(
        title=f"{data.id}: validation of {found.variant}",
        question=f"Does {found.variant} predict left-out rows within its 90 % intervals, and how large are its errors?",
        basis=f"{data.title} ({data.id}), variant {found.variant}",
        answer=conclude(found, judged),
        sections=tuple(sections),
        made_by=f"icmodel {__version__}",
        front=_front(found, judged, line),
        masthead=masthead,
    )


def words(found: Validation) -> list[str]:
    """Return the words of the ``icmodel`` command line that repeats a validation."""
    options, usual = found.options, ValidationOptions()
    said = ["validate", found.data.reference, "--variant", found.variant]
    if options.kinds != KINDS:
        said += ["--folds", ",".join(options.kinds)]
    if options.metrics:
        said += ["--metric", ",".join(options.metrics)]
    if options.breaks_bytes:
        said += ["--break", ",".join(f"{size} B" for size in options.breaks_bytes)]
    if options.most is not None:
        said += ["--most", str(options.most)]
    if options.worst != usual.worst:
        said += ["--worst", str(options.worst)]
    if options.runs is not None:
        said += ["--runs", options.runs.reference]
    return said


# --- verdicts ---------------------------------------------------------------------------------

JudgedScore = tuple[Trial, Score, Verdict]
"""Trial (one kind of cross-validation fold), score of one metric in this trial, and verdict on the score's coverage."""


def verdicts(found: Validation) -> list[JudgedScore]:
    """Judge the coverage of each metric: the share of left-out rows inside their 90 % intervals. The worst comes first.

    A fold is a set of left-out rows. Only folds that resemble a user's questions are judged: single points left out,
    and held-out runs. Without such folds, all folds are judged.
    """
    deciding = [trial for trial in found.trials if trial.kind in LIKE_QUESTIONS] or found.trials
    judged = []
    for trial in deciding:
        for metric, tested in trial.metrics.items():
            required = Requirement(
                f"{metric_name(metric)}, {trial.kind}", "coverage_ratio", at_least=PROMISED[0]
            )
            covered = tested.score.coverage
            share = absent("no row has an interval")
            if covered is not None:
                ends = (covered.share, covered.low, covered.high)
                share = Estimate(*ends, "measured", "", ("measured",))
            judged.append((trial, tested.score, judge(required, share)))

    def rank(one: JudgedScore) -> tuple[int, float]:
        margin = one[2].margin
        return -OUTCOMES.index(one[2].outcome), math.inf if math.isnan(margin) else margin

    return sorted(judged, key=rank)


def conclude(found: Validation, judged: Sequence[JudgedScore]) -> Conclusion:
    """Return the conclusion of a validation: whether enough rows lie inside their 90 % intervals."""
    outcome = worst_outcome([verdict.outcome for *_, verdict in judged])
    if not judged:
        return Conclusion(outcome, "Undecided: no metric has enough rows to score.", ())
    _, score, verdict = judged[0]
    alike = sum(one.outcome == outcome for *_, one in judged)
    shown = (
        "no row has an interval"
        if score.coverage is None
        else f"{_coverage(score.coverage)[0]} of its rows lie inside"
    )
    errors = [
        one.errors.median
        for _, one, _ in judged
        if one.kind != ABSOLUTE and not math.isnan(one.errors.median)
    ]
    off = ""
    if errors:
        off = f" Median relative errors are {percent(min(errors))} to {percent(max(errors))}."
    first = "the narrowest is" if outcome == MET else "the worst is"
    sentence = (
        f"{outcome.capitalize()}: at least {percent(PROMISED[0])} of the rows must lie inside their intervals; "
        f"{alike} of {plural(len(judged), 'score')} {'is' if alike == 1 else 'are'} {outcome}, {first} "
        f"{verdict.requirement.name}: {shown}.{off}"
    )
    parts = (("Decided by", verdict.requirement.name), ("Margin", margin_text(verdict)))
    return Conclusion(outcome, sentence, tuple(part for part in parts if part[1]))


def _front(found: Validation, judged: Sequence[JudgedScore], line: str) -> Front:
    """Make the first page of a validation: table of metrics (the worst first), plot of errors, and doubts."""
    rows = []
    for trial, score, verdict in judged[:MOST_NUMBERS]:
        share, span = _coverage(score.coverage)
        rows.append(
            (
                name_cell(metric_name(score.metric), trial.kind),
                Cell(
                    error_text(score.kind, score.errors.median),
                    note=f"95 % of rows: {error_text(score.kind, score.errors.p95)}",
                ),
                Cell(share, note="" if score.coverage is None else f"{span} %"),
                Cell(f"at least {percent(PROMISED[0])}"),
                Cell(margin_text(verdict) or "unknown"),
                Cell(plural(score.n, "row"), note=plural(score.points, "point")),
                Cell("", outcome=verdict.outcome),
            )
        )
    columns = ("metric", "median error", "covered", "required", "margin", "based on", "verdict")
    caption = "Share of left-out rows inside their 90 % interval, the worst first. Below each share is its 95 % interval"
    doubts = [
        f"{metric_name(score.metric)}, {trial.kind}: {plural(score.unanswered, 'left-out row')} without an answer."
        for trial, score, _ in sorted(judged, key=lambda one: -one[1].unanswered)
        if score.unanswered
    ]
    few = [(score, trial) for trial, score, _ in judged if score.coverage is not None]
    for score, trial in sorted(few, key=lambda one: one[0].points)[:1]:
        doubts.append(
            f"{metric_name(score.metric)}, {trial.kind}, based on {plural(score.points, 'point')} only."
        )
    if found.too_few:
        doubts.append(
            f"{plural(len(found.too_few), 'metric')} with too few rows to score: {', '.join(found.too_few)}."
        )
    doubts.append(
        "Left-out rows are from the dataset's own hosts. Errors on other hosts may be larger."
    )
    change = [
        f"More rows of {metric_name(score.metric)}: now {plural(score.n, 'row')}, {_coverage(score.coverage)[0]} inside."
        for _, score, verdict in judged
        if verdict.outcome != MET
    ]
    change.append(
        "Another variant: icmodel validate with --variant hybrid, corrected or appendix-h."
    )
    picture, title = None, f"Errors of {found.variant} on left-out rows"
    with suppress(ReportError):  # no row has a payload
        plot = error_plot(found)
        picture = Figure(title, f"{title}, over the payload.", title, plot, Shown("", (), ()))
    return Front(
        numbers=Shown(caption, columns, tuple(rows), numbers=columns[1:4]),
        more=more_requirements(
            [one.outcome for *_, one in judged], "the tables of each kind of fold"
        ),
        picture=picture,
        change=sentences(change, MOST_CHANGES),
        buy=(("to buy", "nothing: a validation measures a model"),),
        doubts=sentences(doubts, MOST_DOUBTS),
        repeat=repeat(line, {found.data.id: found.data.sha256}, found.variant, None),
    )


def _shown(caption: str, table: Table[str]) -> Shown:
    """Convert a plain table of texts into a table block of a report."""
    rows = tuple(tuple(map(Cell, row)) for row in table.rows)
    numbers = tuple(name for name, right in zip(table.names, table.right, strict=True) if right)
    return Shown(caption, table.names, rows, numbers)


# --- tables -----------------------------------------------------------------------------------


def scores_table(validation: Validation, trial: Trial) -> Table[str]:
    """Return a table of errors, coverage and noise by metric.

    Noise is the scatter between repeated runs of the dataset. For held-out runs, two more columns have the scatter of
    the held-out runs.
    """
    held_out = trial.kind == HELD_OUT
    errors = ("#median", "#p25", "#p75", "#p95", "#greatest")
    columns = ("metric", "#rows", "#points", *errors, "#covered", "95 % of it", "#half width")
    at_runs = ("#noise there", "#of repeats") if held_out else ()
    rows = []
    for metric, tested in trial.metrics.items():
        score, error = tested.score, tested.score.errors
        numbers = (error.median, error.p25, error.p75, error.p95, error.greatest)
        noise, repeat = validation.noise.get(metric), validation.repeats.get(metric)
        noises = [None if noise is None else noise.run]
        if held_out:
            noises += [None, None] if repeat is None else [repeat.run, repeat.error]
        rows.append(
            (
                metric,
                str(score.n),
                str(score.points),
                *(error_text(score.kind, number) for number in numbers),
                *_coverage(score.coverage),
                error_text(score.kind, score.half_width),
                *(error_text(kind(metric), number) for number in noises),
                str(score.unanswered or "–"),
            )
        )
    return Table((*columns, "#noise", *at_runs, "#no answer"), tuple(rows))


def error_text(error_kind: str, number: float | None) -> str:
    """Return a prediction error as text: relative in per cent, absolute as a plain number, unknown as a dash.

    Parameters
    ----------
    error_kind : str
        Kind of the error: `ABSOLUTE`, or any other text for a relative error.
    """
    if number is None or math.isnan(number):
        return "–"
    return fixed(number, 4) if error_kind == ABSOLUTE else f"{fixed(100 * number, 2)} %"


def _coverage(coverage: Coverage | None) -> tuple[str, str]:
    """Return two texts: the share of rows inside their intervals, and the 95 % interval of this share."""
    if coverage is None:
        return "–", "–"
    return f"{100 * coverage.share:.1f} %", f"{100 * coverage.low:.1f} … {100 * coverage.high:.1f}"


def regions_table(trial: Trial) -> Table[str]:
    """Return a table of errors and coverage, with a row for each metric and region.

    A region is a part of the left-out rows, such as those of one protocol. Coverage is the share of rows inside their
    predicted intervals.
    """
    rows = tuple(
        (
            metric,
            name,
            str(part.n),
            error_text(part.kind, part.errors.median),
            error_text(part.kind, part.errors.p95),
            *_coverage(part.coverage),
        )
        for metric, tested in trial.metrics.items()
        for name, part in tested.regions.items()
        if part.n
    )
    columns = ("metric", "region", "#rows", "#median", "#p95", "#covered", "95 % of it")
    return Table(columns, rows)


def worst_table(data: Dataset, trial: Trial) -> Table[str]:
    """Return a table of the points with the greatest errors: measured and predicted values."""
    rows = []
    for metric, tested in trial.metrics.items():
        for one in tested.worst:
            point, estimate = one.point, one.estimate
            numbers = (point.value, estimate.value, estimate.low, estimate.high)
            rows.append(
                (
                    metric,
                    point_text(data, point),
                    quantity_text("payload_bytes", point.payload_bytes),
                    quantity_text("load_bps", point.load_bps),
                    *(
                        quantity_text(metric, None if math.isnan(n) else float(f"{n:.4g}"))
                        for n in numbers
                    ),
                    error_text(kind(metric), one.error),
                )
            )
    numbers_of = ("#payload", "#load", "#value", "#predicted", "#low", "#high", "#error")
    return Table(("metric", "point", *numbers_of), tuple(rows))


def point_text(data: Dataset, point: Point) -> str:
    """Return a dataset row as text: protocol, options, and the counts (such as cores) other than the default."""
    parts = [point.protocol, *(f"{a}={value}" for a, value in data.options_of(point).items())]
    for name, usual in (("cores", None), ("switches", 0), ("endpoints", 1)):
        count = getattr(point, name)
        if count not in (None, usual):
            parts.append(f"{name}={count}")
    return ", ".join(parts)


def unanswered_lines(trial: Trial) -> list[str]:
    """Return lines with the most frequent reasons for unanswered rows, by metric."""
    lines = []
    for metric, tested in trial.metrics.items():
        reasons = list(tested.score.reasons.items())
        for why, count in reasons[:MOST_REASONS]:
            lines.append(f"{metric}, {plural(count, 'row')}: {why}")
        rest = sum(count for _, count in reasons[MOST_REASONS:])
        if rest:
            lines.append(f"{metric}, {plural(rest, 'row')}: for other reasons (--json has all)")
    return lines


HEIGHT = 150
LEAST_ERROR = 1e-4
"""Least error on the logarithmic axis. Smaller errors are drawn at this value."""
FEW_SIZES = 6
"""Maximum number of payloads for a label at each payload. With more payloads, the axis labels powers of two."""
SCALE: Spec = {"type": "log", "nice": False, "padding": 8}
"""Vega-Lite scale of both axes of an error plot: logarithmic, with 8 px padding."""
_LOWEST = f"datum.label === '' ? '' : (datum.value < {1.01 * LEAST_ERROR} ? '≤ ' : '')"
PERCENT = f"{_LOWEST} + format(datum.value * 100, '~r')"
SHARES = f"{_LOWEST} + format(datum.value, '~r')"
"""Vega expressions for the labels of an error axis. The lowest label begins with ``≤``."""
HELD, MISSED, NONE = "inside its interval", "outside its interval", "no interval"
MARKS = {HELD: COLOURS[PREDICTED], MISSED: COLOURS[LIMIT], NONE: QUIET}
SHAPES = {HELD: "circle", MISSED: "cross", NONE: "square"}
"""Shape of a point in an error plot: the measured value is inside or outside the interval, or there is no interval.

``MARKS`` has the colours.
"""
NOISE, MEDIAN = "noise of one run", "median error"
DASHES = {MEDIAN: [1, 0], NOISE: [4, 3]}


def error_plot(found: Validation) -> Spec:
    """Make the Vega-Lite specification of a validation: for each metric, a plot of errors over the payload.

    Horizontal lines show the median error and the noise of one run.

    Raises
    ------
    ReportError
        If no metric with payloads was scored.
    """
    drawn = [
        (trial, metric, rows)
        for trial in found.trials
        for metric in trial.metrics
        if (rows := error_rows(trial, metric))
    ]
    if not drawn:
        raise ReportError(
            f"{found.data.id} has no prediction errors to plot: scoring needs a metric with at least 30 "
            "measured or tabulated rows that state a payload"
        )
    used = {str(row["interval"]) for *_, rows in drawn for row in rows}
    noisy = any(metric in found.noise for _, metric, _ in drawn)
    marks = nominal_channels(
        "interval", [mark for mark in MARKS if mark in used], color=MARKS, shape=SHAPES
    )
    dashes = nominal_channels("line", [MEDIAN, NOISE] if noisy else [MEDIAN], strokeDash=DASHES)
    return {
        "$schema": SCHEMA,
        "title": {
            "text": f"Errors of {found.variant} on left-out rows",
            "subtitle": found.data.id,
            "anchor": "start",
            "fontSize": 15,
            "offset": 12,
        },
        "columns": 2,
        "concat": [_plot(found, *one, marks, dashes) for one in drawn],
        "config": CONFIG,
    }


def _plot(
    found: Validation, trial: Trial, metric: str, rows: list[Row], marks: Spec, dashes: Spec
) -> Spec:
    """Make the error plot of one metric for one trial (kind of cross-validation fold)."""
    score = trial.metrics[metric].score
    lines: list[Row] = [{"line": MEDIAN, "error": max(score.errors.median, LEAST_ERROR)}]
    if metric in found.noise:
        lines.append({"line": NOISE, "error": max(found.noise[metric].run, LEAST_ERROR)})
    title, labels = ("relative error [%]", PERCENT)
    if score.kind == ABSOLUTE:
        title, labels = ("absolute error", SHARES)
    sizes = sorted({int(str(row["payload_bytes"])) for row in rows})
    return {
        "title": {
            "text": metric_name(metric),
            "subtitle": f"{trial.kind}, {plural(score.n, 'row')}",
            "anchor": "start",
            "frame": "group",
        },
        "width": WIDTH,
        "height": HEIGHT,
        "encoding": {
            "y": {
                "field": "error",
                "type": "quantitative",
                "scale": SCALE,
                "axis": {
                    "title": title,
                    "format": "~r",
                    "labelExpr": labels,
                    "tickCount": 5,
                    "gridOpacity": UNLABELLED,
                },
            }
        },
        "layer": [
            {
                "data": {"values": rows},
                "mark": {"type": "point", "size": 24},
                "encoding": {
                    "x": {
                        "field": "payload_bytes",
                        "type": "quantitative",
                        "scale": SCALE | {"base": 2},
                        "axis": {
                            "title": "payload [B]",
                            "labelExpr": BYTE_LABELS,
                            "grid": False,
                            **({"values": sizes} if len(sizes) <= FEW_SIZES else {"tickCount": 6}),
                        },
                    },
                    "tooltip": [{"field": "said", "title": metric}, {"field": "source"}],
                    **marks,
                },
            },
            {"data": {"values": lines}, "mark": "rule", "encoding": dashes},
        ],
    }


def error_rows(trial: Trial, metric: str) -> list[Row]:
    """Return the points of an error plot, one for each left-out dataset row that has a payload and a prediction."""
    rows: list[Row] = []
    for one in trial.outcomes:
        if one.point.metric != metric or one.estimate.absent or one.point.payload_bytes is None:
            continue
        predicted, measured = (quantity(metric, n) for n in (one.estimate.value, one.point.value))
        rows.append(
            {
                "payload_bytes": one.point.payload_bytes,
                "error": max(one.error, LEAST_ERROR),
                "interval": NONE if one.covered is None else HELD if one.covered else MISSED,
                "said": f"{predicted}, measured {measured}",
                "source": one.point.source,
            }
        )
    return rows
