"""``icmodel compare``: one question put to several datasets, protocols or variants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel.cli.models import fitted
from icmodel.cli.output import (
    Answer,
    Section,
    Table,
    check_file,
    emit,
    hanging,
    progress_bar,
    write_text,
)
from icmodel.cli.predict import metric_records
from icmodel.cli.question import (
    DEFAULT_DATASET,
    AsJson,
    DatasetNames,
    Every,
    Extrapolate,
    NoCache,
    Output,
    ProtocolNames,
    Question,
    VariantNames,
    asks,
    listed,
    option,
    question_text,
    room,
)
from icmodel.cli.short import fitting, shown_metrics
from icmodel.dataset import Dataset, load
from icmodel.documents import plain
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate, Prediction, estimated, interval, metric_name
from icmodel.scenario import Scenario, scenario

if TYPE_CHECKING:
    from icmodel.interconnects import Comparison

app = room()

MOST_NOTES = 6
"""Lines of notes without ``--all``."""
UseCaseName = Annotated[
    str | None,
    option(
        "usecase",
        "USECASE",
        "Instead of one question: a use case on every interconnect, by name or file.",
    ),
]
Why = Annotated[
    bool, typer.Option("--why", help="With --usecase: who answers for each interconnect, and why.")
]


@dataclass(frozen=True, slots=True)
class Column:
    """One answer: a prediction, or the reason why there is none."""

    dataset: str
    variant: str
    protocol: str
    why: str
    prediction: Prediction | None


@app.command(short_help="Answers of several datasets side by side.")
@asks
def compare(
    *,
    usecase: UseCaseName = None,
    dataset: DatasetNames = None,
    variant: VariantNames = None,
    protocol: ProtocolNames = None,
    question: Question,
    extrapolate: Extrapolate = False,
    every: Every = False,
    why: Why = False,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Put one question to several datasets, protocols or variants, side by side.

    Repeat --dataset, --protocol or --variant, or give names with commas; every combination that
    exists is a column. One that cannot answer says why; if none can, that is an error.

    With --usecase every interconnect is a row: 1 to 200 Gb/s Ethernet with TCP, UDP and ZeroMQ, RoCE,
    InfiniBand and RapidIO, met, not met or undecided, on what basis, and what measurement would decide.
    All bundled datasets speak, or those of --dataset. The exit code is 0 if one meets everything, 1 if
    none does, 3 if that is open.

    \b
    icmodel compare --protocol tcp,udp --payload "1472 B"
    icmodel compare --variant appendix-h,corrected --payload "65535 B" --rate 6700/s
    icmodel compare --dataset ethernet-10g-2012 --dataset infiniband-qdr-connectx2 --payload "4 KiB"
    icmodel compare --usecase motion-control
    icmodel compare --usecase motion-control --dataset rapidio-tsi721 --why -o motion-control.md
    """  # noqa: D301
    if usecase is not None:
        asked = {**question.texts(), "option": question.option, "variant": variant}
        refuse_beside({**asked, "protocol": protocol, "extrapolate": extrapolate, "all": every})
        return compare_usecase(
            usecase, listed(dataset), why=why, cache=not no_cache, as_json=as_json, output=output
        )
    if why:
        raise ScenarioError("--why is given without --usecase: leave it out, or give --all")
    datasets = [load(name) for name in listed(dataset) or [DEFAULT_DATASET]]
    outside = "extrapolate" if extrapolate else "refuse"
    columns = [
        _column(data, name, scenario(**question.words(chosen)), outside, cache=not no_cache)
        for data in datasets
        for chosen in _protocols(data, datasets, listed(protocol))
        for name in listed(variant) or [data.default_variant]
    ]
    if all(column.prediction is None for column in columns):
        raise OutOfDomain(columns[0].why)
    emit(_answer(columns, every=every), as_json=as_json, output=output)
    return 0


def _answer(columns: list[Column], *, every: bool) -> Answer:
    """The columns as sections, JSON and records."""
    return Answer(
        sections=lambda: _sections(columns, every=every),
        document=lambda: {"schema_version": 1, "columns": plain(columns)},
        records=lambda: chain.from_iterable(map(metric_records, _answered(columns))),
    )


def _protocols(data: Dataset, datasets: list[Dataset], asked: list[str]) -> list[str]:
    """The requested protocols that a dataset has; each must be in some dataset."""
    for name in asked:
        if not any(name in other.protocols for other in datasets):
            known = "; ".join(f"{other.id} has {', '.join(other.protocols)}" for other in datasets)
            raise OutOfDomain(f"no dataset here has the protocol {name!r}: {known}")
    return [name for name in asked if name in data.protocols] or [data.default_protocol]


def _column(data: Dataset, variant: str, asked: Scenario, outside: str, *, cache: bool) -> Column:
    try:
        with fitted(data, variant, cache=cache) as model:
            prediction = model.predict(asked, outside=outside)
        return Column(data.id, variant, asked.protocol, "", prediction)
    except OutOfDomain as refusal:
        return Column(data.id, variant, asked.protocol, str(refusal), None)


def _sections(columns: list[Column], *, every: bool) -> Iterator[Section]:
    """The questions, the metrics that decide or all, and the notes on each column."""
    answered = list(_answered(columns))
    numbered = [(f"({number})", one) for number, one in enumerate(answered, start=1)]
    heads = tuple(head for head, _ in numbered)
    rows = tuple(
        (head, one.dataset, one.variant, question_text(one.scenario)) for head, one in numbered
    )
    yield Section("", Table(("", "dataset", "variant", "question"), rows))
    names = dict.fromkeys(
        name for one in answered for name in (one.metrics if every else shown_metrics(one))
    )
    cells = [row for name in names for row in _cells(answered, name)]
    last = ("bottleneck", *(one.bottleneck for one in answered))
    yield Section("value, 90 % interval and basis", Table(("metric", *heads), (*cells, last)))
    notes = [f"{head}: {note}" for head, one in numbered for note in one.notes]
    if notes:
        yield Section("notes", tuple(fitting(notes, math.inf if every else MOST_NOTES)))
    silent = [column for column in columns if column.prediction is None]
    if silent:
        told = (f"- {c.dataset}, {c.variant}, {c.protocol}: {c.why}" for c in silent)
        yield Section("without an answer", tuple(told))


def _answered(columns: list[Column]) -> Iterator[Prediction]:
    return (column.prediction for column in columns if column.prediction is not None)


def _cells(answered: list[Prediction], name: str) -> list[tuple[str, ...]]:
    """Two lines of one metric: values, and intervals with bases; none where no column has a value."""
    columns = [_cell(one.metrics.get(name), name) for one in answered]
    if not any(rests for _, rests in columns):
        return []
    values, rests = zip(*columns, strict=True)
    return [(metric_name(name), *values), ("", *rests)]


def _cell(one: Estimate | None, name: str) -> tuple[str, str]:
    """Value, and interval with basis, of a metric in one column."""
    if one is None or one.absent:
        return "–", ""
    return estimated(name, one), f"{interval(name, one)}, {one.basis}"


def compare_usecase(
    usecase: str,
    datasets: list[str],
    *,
    why: bool,
    cache: bool,
    as_json: bool,
    output: Path | None,
) -> int:
    """Print or write the comparison of a use case on every interconnect; returns the exit code."""
    from icmodel.interconnects import compare_interconnects  # models, not needed by other commands
    from icmodel.report.interconnects import comparison_markdown

    if output is not None:
        check_file(output, (".txt", ".json", ".csv", ".md"))
    with progress_bar("comparing") as watch:
        found = compare_interconnects(usecase, datasets or None, watch, cache=cache)
    answer = Answer(
        sections=lambda: _comparison_sections(found, why=why),
        document=found.to_dict,
        records=lambda: _records(found),
        files={".md": lambda path: write_text(path, comparison_markdown(found))},
    )
    emit(answer, as_json=as_json, output=output)
    return found.exit_code


def refuse_beside(given: dict[str, object]) -> None:
    """Refuse options that the use case already determines.

    Raises
    ------
    ScenarioError
        Naming the first such option.
    """
    for name, value in given.items():
        if value:
            raise ScenarioError(
                f"--{name.replace('_', '-')} is given beside --usecase, which asks its own "
                "questions: leave it out, or leave --usecase out"
            )


def _comparison_sections(found: Comparison, *, why: bool) -> Iterator[Section]:
    from icmodel.report import interconnects as words

    yield Section("", hanging(words.headline(found)))
    rows = tuple(words.row_cells(row) for row in found.rows)
    yield Section("", Table(("link", "#Gb/s", *words.COLUMNS[2:]), rows))
    if told := words.measurements(found):
        yield Section("what would decide", hanging(told))
    yield Section("how it was made", hanging(words.RULES))
    if not why:
        yield Section("", ("who answers for each link, who else does, and why: --why",))
        return
    for row in found.rows:
        heading = f"{words.link_name(row)}: {row.outcome}"
        yield Section(heading, hanging(words.reasons(row)))


def _records(found: Comparison) -> Iterator[dict[str, object]]:
    """One line a link."""
    for row in found.rows:
        told = row.to_dict()
        source = row.source
        kept = ("source", "others", "silent", "measurements")
        flat = {name: value for name, value in told.items() if name not in kept}
        yield {
            **flat,
            "dataset": source.dataset,
            "choice": source.result.description,
            "measurements": "; ".join(row.measurements),
        }
