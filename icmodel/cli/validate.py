"""``icmodel validate``: errors of a model on rows it was not fitted to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    fixed,
    progress_bar,
    write_file,
    write_text,
)
from icmodel.cli.plot import ENDINGS as PLOTS
from icmodel.cli.plot import write_plot
from icmodel.cli.question import (
    AsJson,
    OneDataset,
    Output,
    VariantName,
    given,
    listed,
    quantity_text,
    room,
    shares,
)
from icmodel.dataset import Dataset, Point, load
from icmodel.dataset.coverage import FILE
from icmodel.dataset.repeats import ABSOLUTE, kind
from icmodel.errors import ScenarioError
from icmodel.estimate import plural
from icmodel.validate import Trial, Validation, Wishes, document, kept, records, validate
from icmodel.validate.scores import Coverage, Outcome, Score
from icmodel.validate.validation import (
    HELD_OUT,
    KINDS,
    LEAVE_ONE,
)

app = room()

ENDINGS = (".csv", ".json", ".txt")
SHOWN = 3
"""Reasons for unanswered rows that are listed for a metric."""

Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw the errors over the payload: SVG or PNG."),
]


Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        help="Write the coverage beside the dataset; predictions then say where it is below 85 %.",
    ),
]


@dataclass(frozen=True, slots=True)
class Trials:
    """Which rows are left out and scored, as typed."""

    folds: list[str] | None = given("KINDS", f"{', '.join(KINDS)}; can be repeated.", "all")
    metric: list[str] | None = given(
        "NAMES", "Only these; can be repeated.", "all with 30 rows or more"
    )
    at_break: list[str] | None = given(
        "SIZE", 'Greatest payload before a break, e.g. "1448 B".', "each curve's own", name="break"
    )
    most: str | None = given(
        "N", "At most so many folds of a kind (beside breaks of each metric), drawn evenly.", "all"
    )
    worst: str = given("N", "Worst points listed for a metric.", default="5")
    runs: str | None = given("DATASET", "Whose held-out runs are asked for.", "the dataset's own")

    def wishes(self) -> Wishes:
        """The same as numbers, with the dataset of other runs loaded."""
        return Wishes(
            kinds=tuple(listed(self.folds)) or KINDS,
            metrics=tuple(listed(self.metric)),
            breaks_bytes=tuple(units.parse_bytes(one) for one in listed(self.at_break)) or None,
            most=None if self.most is None else _count("most", self.most, 1),
            worst=_count("worst", self.worst, 0),
            runs=None if self.runs is None else load(self.runs),
        )


@app.command(short_help="Errors on rows kept from the model.")
@shares(Trials, "trials")
def validate_rows(
    *,
    name: OneDataset,
    variant: VariantName = None,
    trials: Trials,
    plot: Plot = None,
    keep: Keep = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Ask a model for measured rows that were kept from it, and compare.

    Leaves out one point at a time, one curve, what stands beside a break, and asks for the runs
    a campaign held out. Gives the errors by metric and region, how often the 90 % intervals held
    the row, the noise from repeat to repeat beside it, and the worst points. Only measured and
    tabulated rows are learned from and scored; a metric with fewer than 30 of them is too few.

    \b
    icmodel validate mpi-infiniband-roce --variant corrected --folds leave-one-out
    icmodel validate ethernet-1g-2010 --variant corrected --metric rtt_half_mean_s --json
    icmodel validate my-dataset --folds held-out --plot errors.svg
    icmodel validate my-dataset --folds held-out --runs measured-the-day-after
    icmodel validate my-dataset --keep
    """  # noqa: D301
    if plot is not None:
        check_file(plot, PLOTS)
    if output is not None:
        check_file(output, ENDINGS)
    if keep and (trials.runs is not None or trials.metric):
        raise ScenarioError(
            "--keep is for all metrics of the dataset's own rows: leave --runs and --metric out"
        )
    wishes, data = trials.wishes(), load(name)
    with progress_bar("folds") as progress:
        found = validate(data, variant, wishes, progress)
    if plot is not None:
        from icmodel.report.error_plot import error_plot

        write_plot(error_plot(found), plot)
    if keep:
        write_file(data.folder / FILE, {".json": lambda path: write_text(path, kept(found))})
    answer = Answer(
        sections=lambda: _sections(found, wishes.kinds),
        document=lambda: document(found),
        records=lambda: records(found),
    )
    emit(answer, as_json=as_json, output=output)


def _count(name: str, text: str, least: int) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()) or int(text) < least:
        raise ScenarioError(
            f"--{name} {text!r} is not possible: give a whole number of at least {least}"
        )
    return int(text)


# --- for people -------------------------------------------------------------------------------


def _sections(found: Validation, kinds: Sequence[str]) -> Iterator[Section]:
    yield Section(
        "",
        (
            f"{found.data.id}, variant {found.variant}",
            "errors are relative; those of ratios (loss_rate, CPU shares) absolute",
        ),
    )
    for trial in found.trials:
        yield Section(f"{trial.kind}, {plural(trial.folds, 'fold')}", _scores(found, trial))
        by_region = _regions(trial)
        if trial.kind in (LEAVE_ONE, HELD_OUT) and by_region.rows:
            yield Section("by region", by_region)
        if any(tested.worst for tested in trial.metrics.values()):
            yield Section("worst points", _worst(found.data, trial))
        silent = tuple(_silences(trial))
        if silent:
            yield Section("without an answer", silent)
    done = {trial.kind for trial in found.trials}
    nothing = tuple(f"- {kind}" for kind in kinds if kind not in done)
    if nothing and found.trials:
        yield Section("without folds, since there is nothing to leave out", nothing)
    if found.too_few:
        few = (f"- {metric}: {n} rows" for metric, n in found.too_few.items())
        yield Section("too few measured or tabulated rows to score (under 30)", tuple(few))


def _scores(found: Validation, trial: Trial) -> Table:
    errors = ("#median", "#p25", "#p75", "#p95", "#greatest")
    there = ("#noise there", "#of repeats") if trial.kind == HELD_OUT else ()
    columns = ("metric", "#rows", "#points", *errors, "#covered", "95 % of it", "#half width")
    rows = tuple(
        (
            metric,
            str(tested.score.n),
            str(tested.score.points),
            *_errors(tested.score),
            *_coverage(tested.score.coverage),
            _error(tested.score.kind, tested.score.half_width),
            _noise(found, metric),
            *(_repeats(found, metric) if trial.kind == HELD_OUT else ()),
            str(tested.score.unanswered or "–"),
        )
        for metric, tested in trial.metrics.items()
    )
    return Table((*columns, "#noise", *there, "#no answer"), rows)


def _errors(score: Score) -> tuple[str, ...]:
    of = score.errors
    numbers = (of.median, of.p25, of.p75, of.p95, of.greatest)
    return tuple(_error(score.kind, number) for number in numbers)


def _error(of: str, number: float) -> str:
    """A relative error in per cent, an absolute one unchanged."""
    if number != number:
        return "–"
    return fixed(number, 4) if of == ABSOLUTE else f"{fixed(100 * number, 2)} %"


def _coverage(coverage: Coverage | None) -> tuple[str, str]:
    if coverage is None:
        return "–", "–"
    return f"{100 * coverage.share:.1f} %", f"{100 * coverage.low:.1f} … {100 * coverage.high:.1f}"


def _noise(found: Validation, metric: str) -> str:
    noise = found.noise.get(metric)
    if noise is None:
        return "–"
    return _error(kind(metric), noise.run)


def _repeats(found: Validation, metric: str) -> tuple[str, str]:
    """The noise of one run at the held-out points, and the error of other runs there."""
    one = found.repeats.get(metric)
    if one is None:
        return "–", "–"
    return _error(kind(metric), one.run), _error(kind(metric), one.error)


def _regions(trial: Trial) -> Table:
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


def _worst(data: Dataset, trial: Trial) -> Table:
    numbers = ("#payload", "#load", "#value", "#predicted", "#low", "#high", "#error")
    rows = tuple(
        _outcome(data, metric, one)
        for metric, tested in trial.metrics.items()
        for one in tested.worst
    )
    return Table(("metric", "point", *numbers), rows)


def _outcome(data: Dataset, metric: str, one: Outcome) -> tuple[str, ...]:
    point, said = one.point, one.estimate
    numbers = (point.value, said.value, said.low, said.high)
    return (
        metric,
        _where(data, point),
        quantity_text("payload_bytes", point.payload_bytes),
        quantity_text("load_bps", point.load_bps),
        *(quantity_text(metric, None if n != n else float(f"{n:.4g}")) for n in numbers),
        _error(kind(metric), one.error),
    )


def _where(data: Dataset, point: Point) -> str:
    """Protocol, options and counts that differ from the usual ones."""
    counts = (("cores", point.cores), ("switches", point.switches), ("endpoints", point.endpoints))
    usual = {("switches", 0), ("endpoints", 1)}
    said = [f"{name}={n}" for name, n in counts if n is not None and (name, n) not in usual]
    return ", ".join(
        [point.protocol, *(f"{a}={v}" for a, v in data.options_of(point).items()), *said]
    )


def _silences(trial: Trial) -> Iterator[str]:
    for metric, tested in trial.metrics.items():
        reasons = list(tested.score.reasons.items())
        for why, n in reasons[:SHOWN]:
            yield f"- {metric}, {plural(n, 'row')}: {why}"
        rest = sum(n for _, n in reasons[SHOWN:])
        if rest:
            yield f"- {metric}, {plural(rest, 'row')}: for other reasons (--json has all)"
