"""``icmodel validate``: errors of a model on rows it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.options import (
    AsJson,
    OneDataset,
    Output,
    VariantName,
    expand_options,
    make_app,
    quantity_text,
)
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    bullets,
    check_file,
    emit,
    fixed,
    progress_bar,
    write_file,
    write_text,
)
from icmodel.cli.plot import PLOT_FILES, write_plot
from icmodel.dataset import Dataset, Point, load
from icmodel.dataset.coverage import FILE
from icmodel.dataset.repeats import ABSOLUTE, kind
from icmodel.errors import ScenarioError
from icmodel.estimate import plural
from icmodel.questions.words import option_field, parse_count, split_names
from icmodel.validate import Trial, Validation, Wishes, document, kept, records, validate
from icmodel.validate.scores import Coverage
from icmodel.validate.validation import HELD_OUT, KINDS, LEAVE_ONE

app = make_app()

ANSWER_FILES = (".csv", ".json", ".txt", ".xlsx")
MOST_REASONS = 3
"""Maximum number of reasons for unanswered rows listed for a metric."""

Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the errors over the payload: SVG or PNG."),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        help="Store the coverage in the dataset's folder; predictions then warn below 85 %.",
    ),
]


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """Options that select the rows to leave out and score, as texts of the command line."""

    folds: list[str] | None = option_field(
        "KINDS", f"Kinds of folds: {', '.join(KINDS)}; can be repeated.", "all"
    )
    metric: list[str] | None = option_field(
        "NAMES", "Metrics to score; can be repeated.", "all with 30 rows or more"
    )
    at_break: list[str] | None = option_field(
        "SIZE",
        'Greatest payload before a break, e.g. "1448 B".',
        "the break found in each curve",
        name="break",
    )
    most: str | None = option_field(
        "N",
        "Maximum number of folds of each kind, evenly drawn; for breaks, folds of each metric.",
        "all",
    )
    worst: str = option_field("N", "Number of worst points to list per metric.", default="5")
    runs: str | None = option_field(
        "DATASET", "Dataset whose held-out runs are scored.", "the dataset's own"
    )

    def wishes(self) -> Wishes:
        """Return the choice as numbers; loads the dataset given with --runs."""
        breaks = tuple(units.parse_bytes(size) for size in split_names(self.at_break))
        return Wishes(
            kinds=tuple(split_names(self.folds)) or KINDS,
            metrics=tuple(split_names(self.metric)),
            breaks_bytes=breaks or None,
            most=None if self.most is None else parse_count("most", self.most, least=1),
            worst=parse_count("worst", self.worst),
            runs=None if self.runs is None else load(self.runs),
        )


@app.command(short_help="Score a model on rows that it was not fitted to.")
@expand_options(FoldChoice, "choice")
def validate_rows(
    *,
    name: OneDataset,
    variant: VariantName = None,
    choice: FoldChoice,
    plot: Plot = None,
    keep: Keep = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Predict measured rows that were left out of the fit, and compare.

    Each kind of fold leaves out other rows: one point at a time, one curve, the rows beside a break,
    or the runs that a campaign held out. The answer shows the errors by metric and region, the share of rows inside their 90 %
    intervals, the noise between repeats, and the worst points. Only measured and tabulated rows are
    fitted and scored. A metric with fewer than 30 such rows is not scored.

    \b
    icmodel validate mpi-infiniband-roce --variant corrected --folds leave-one-out
    icmodel validate ethernet-1g-2010 --variant corrected --metric rtt_half_mean_s --json
    icmodel validate my-dataset --folds held-out --plot errors.svg
    icmodel validate my-dataset --folds held-out --runs measured-the-day-after
    icmodel validate my-dataset --keep
    """  # noqa: D301
    if plot is not None:
        check_file(plot, PLOT_FILES)
    if output is not None:
        check_file(output, ANSWER_FILES)
    if keep and (choice.runs is not None or choice.metric):
        raise ScenarioError(
            "--keep stores all metrics of the dataset's own rows: leave --runs and --metric out"
        )
    wishes, data = choice.wishes(), load(name)
    with progress_bar("folds") as progress:
        validation = validate(data, variant, wishes, progress)
    if plot is not None:
        from icmodel.report.error_plot import error_plot

        write_plot(error_plot(validation), plot)
    if keep:
        coverage = kept(validation)
        write_file(data.folder / FILE, {".json": lambda path: write_text(path, coverage)})
    answer = Answer(
        sections=lambda: validation_sections(validation, wishes.kinds),
        document=lambda: document(validation),
        records=lambda: records(validation),
    )
    emit(answer, as_json=as_json, output=output)


# --- for people -------------------------------------------------------------------------------


def validation_sections(validation: Validation, kinds: Sequence[str]) -> Iterator[Section]:
    """Yield the scores of each kind of fold, and the metrics that could not be scored."""
    yield Section(
        "",
        (
            f"{validation.data.id}, variant {validation.variant}",
            "errors are relative; those of ratios (loss_rate, CPU shares) absolute",
        ),
    )
    for trial in validation.trials:
        heading = f"{trial.kind}, {plural(trial.folds, 'fold')}"
        yield Section(heading, scores_table(validation, trial))
        regions = regions_table(trial)
        if trial.kind in (LEAVE_ONE, HELD_OUT) and regions.rows:
            yield Section("by region", regions)
        if any(tested.worst for tested in trial.metrics.values()):
            yield Section("worst points", worst_table(validation.data, trial))
        if lines := unanswered_lines(trial):
            yield Section("without an answer", bullets(lines))
    tried = {trial.kind for trial in validation.trials}
    missing = [name for name in kinds if name not in tried]
    if missing and validation.trials:
        yield Section("without folds, since there is nothing to leave out", bullets(missing))
    if validation.too_few:
        few = (f"{metric}: {n} rows" for metric, n in validation.too_few.items())
        yield Section("too few measured or tabulated rows to score (under 30)", bullets(few))


def scores_table(validation: Validation, trial: Trial) -> Table[str]:
    """Return a table of errors and coverage by metric; for held-out runs also the noise."""
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
                *(_error(score.kind, number) for number in numbers),
                *_coverage(score.coverage),
                _error(score.kind, score.half_width),
                *(_error(kind(metric), number) for number in noises),
                str(score.unanswered or "–"),
            )
        )
    return Table((*columns, "#noise", *at_runs, "#no answer"), tuple(rows))


def _error(of: str, number: float | None) -> str:
    """Return an error as text: relative in per cent, absolute as a number, unknown as a dash."""
    if number is None or math.isnan(number):
        return "–"
    return fixed(number, 4) if of == ABSOLUTE else f"{fixed(100 * number, 2)} %"


def _coverage(coverage: Coverage | None) -> tuple[str, str]:
    """Return the share of rows inside their intervals, and the 95 % interval of this share."""
    if coverage is None:
        return "–", "–"
    return f"{100 * coverage.share:.1f} %", f"{100 * coverage.low:.1f} … {100 * coverage.high:.1f}"


def regions_table(trial: Trial) -> Table[str]:
    """Return a table of errors and coverage of each metric by region."""
    rows = tuple(
        (
            metric,
            name,
            str(part.n),
            _error(part.kind, part.errors.median),
            _error(part.kind, part.errors.p95),
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
                    _error(kind(metric), one.error),
                )
            )
    numbers_of = ("#payload", "#load", "#value", "#predicted", "#low", "#high", "#error")
    return Table(("metric", "point", *numbers_of), tuple(rows))


def point_text(data: Dataset, point: Point) -> str:
    """Return a point as text: protocol, options, and counts that differ from the usual."""
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
