"""``icmodel validate``: prediction errors of a model on left-out dataset rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.options import (
    AsJson,
    Cluster,
    MastheadChoice,
    OneDataset,
    Output,
    VariantName,
    Workers,
    check_workers,
    client_of,
    expand_options,
    make_app,
    page_writers,
    with_masthead,
)
from icmodel.cli.output import (
    Answer,
    Section,
    bullets,
    check_file,
    emit,
    progress_bar,
    say_written,
    write_file,
    write_text,
)
from icmodel.cli.plot import PLOT_FILES, write_plot
from icmodel.dataset import load
from icmodel.dataset.dataset import FILE
from icmodel.errors import ScenarioError
from icmodel.estimate import plural
from icmodel.questions.words import option_field, parse_count, split_names
from icmodel.validate import (
    Validation,
    ValidationOptions,
    document,
    estimates,
    kept,
    records,
    validate,
)
from icmodel.validate.validation import KINDS

app = make_app()

ANSWER_FILES = (".csv", ".json", ".txt", ".xlsx")

Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the errors over the payload: SVG or PNG."),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        help="Store the coverage (share of rows inside their intervals) with the dataset. If it is below 85 %, "
        "predictions warn.",
    ),
]


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """Options that select the dataset rows to leave out and score, as the texts that the user typed."""

    folds: list[str] | None = option_field(
        "KINDS", f"Kinds of cross-validation folds: {', '.join(KINDS)}; can be repeated.", "all"
    )
    metric: list[str] | None = option_field(
        "NAMES", "Metrics to score; can be repeated.", "all with 30 rows or more"
    )
    at_break: list[str] | None = option_field(
        "SIZE",
        'Greatest payload before a break (jump) in a curve, e.g. "1448 B".',
        "the break found in each curve",
        name="break",
    )
    most: str | None = option_field(
        "N",
        "Maximum number of folds of each kind, drawn at random. For folds at breaks, this is the maximum per metric.",
        "all",
    )
    worst: str = option_field(
        "N", "Number of rows to list per metric: those with the greatest errors.", default="5"
    )
    runs: str | None = option_field(
        "DATASET", "Dataset whose held-out runs are scored.", "the dataset's own"
    )

    def options(self) -> ValidationOptions:
        """Return the options as settings of a validation. If ``--runs`` is given, this loads its dataset."""
        breaks = tuple(units.parse_bytes(size) for size in split_names(self.at_break))
        return ValidationOptions(
            kinds=tuple(split_names(self.folds)) or KINDS,
            metrics=tuple(split_names(self.metric)),
            breaks_bytes=breaks or None,
            most=None if self.most is None else parse_count("most", self.most, least=1),
            worst=parse_count("worst", self.worst),
            runs=None if self.runs is None else load(self.runs),
        )


@app.command(short_help="Score a model on left-out rows.")
@expand_options(FoldChoice, "choice")
@with_masthead
def validate_rows(
    *,
    name: OneDataset,
    variant: VariantName = None,
    choice: FoldChoice,
    plot: Plot = None,
    keep: Keep = False,
    workers: Workers = None,
    cluster: Cluster = None,
    head: MastheadChoice,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Leave measured rows out of the fit, predict them, and compare the predictions with the measurements.

    Each kind of fold leaves out different rows: one point at a time, one curve, the rows beside a break
    (jump) in a curve, or the held-out runs of a campaign. The answer shows the errors by metric and
    region, the share of rows inside their 90 % intervals, the noise between repeats, and the worst
    points. Only measured rows, and rows from published tables (tabulated), are fitted and scored. A
    metric with fewer than 30 such rows is not scored.

    -o FILE writes tables, or a report with a one-page summary: .pdf, .html or .md. --workers computes
    folds in processes, --cluster on a Dask cluster; the scores are the same.

    \b
    icmodel validate mpi-infiniband-roce --variant corrected --folds leave-one-out
    icmodel validate ethernet-1g-2010 --variant corrected --metric rtt_half_mean_s --json
    icmodel validate my-dataset --folds held-out --plot errors.svg
    icmodel validate my-dataset --folds held-out --runs measured-the-day-after
    icmodel validate my-dataset --keep
    """  # noqa: D301
    from icmodel.report import PAGE_FILES

    if plot is not None:
        check_file(plot, PLOT_FILES)
    if output is not None:
        check_file(output, (*ANSWER_FILES, *PAGE_FILES))
    check_workers(workers, cluster)
    masthead = head.masthead(output)
    if keep and (choice.runs is not None or choice.metric):
        raise ScenarioError(
            "--keep stores the coverage of all metrics, on the dataset's own rows: leave --runs and --metric out"
        )
    options, data = choice.options(), load(name)
    with client_of(cluster) as client, progress_bar("folds") as progress:
        validation = validate(data, variant, options, progress, workers=workers, client=client)
    if plot is not None:
        from icmodel.report.validation import error_plot

        write_plot(error_plot(validation), plot)
        say_written(plot)
    if keep:
        coverage = kept(validation)
        write_file(data.folder / FILE, {".json": lambda path: write_text(path, coverage)})
        say_written(data.folder / FILE)
    answer = Answer(
        sections=lambda: validation_sections(validation, options.kinds),
        document=lambda: document(validation),
        records=lambda: records(validation),
        files=page_writers(lambda: validation, output, masthead),
        estimates=lambda: estimates(validation),
    )
    emit(answer, as_json=as_json, output=output)


# --- printed text -----------------------------------------------------------------------------


def validation_sections(validation: Validation, kinds: Sequence[str]) -> Iterator[Section]:
    """Yield the result of a validation: scores by kind of fold, and the metrics without a score."""
    from icmodel.report import validation as words

    yield Section(
        "",
        (
            f"{validation.data.id}, variant {validation.variant}",
            words.RULE,
        ),
    )
    for trial in validation.trials:
        heading = f"{trial.kind}, {plural(trial.folds, 'fold')}"
        yield Section(heading, words.scores_table(validation, trial))
        regions = words.regions_table(trial)
        if trial.kind in words.LIKE_QUESTIONS and regions.rows:
            yield Section("by region", regions)
        if any(tested.worst for tested in trial.metrics.values()):
            yield Section("worst points", words.worst_table(validation.data, trial))
        if lines := words.unanswered_lines(trial):
            yield Section("without an answer", bullets(lines))
    tried = {trial.kind for trial in validation.trials}
    missing = [name for name in kinds if name not in tried]
    if missing and validation.trials:
        yield Section("without folds, since there is nothing to leave out", bullets(missing))
    if validation.too_few:
        few = (f"{metric}: {n} rows" for metric, n in validation.too_few.items())
        yield Section("too few measured or tabulated rows to score (under 30)", bullets(few))
