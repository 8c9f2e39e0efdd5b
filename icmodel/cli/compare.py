"""``icmodel compare``: one question on several datasets or protocols; or a use case on every interconnect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel.cli.options import (
    AsJson,
    DatasetNames,
    Every,
    Extrapolate,
    MastheadChoice,
    NoCache,
    Output,
    ProtocolNames,
    VariantNames,
    make_app,
    option,
    page_writers,
    question_text,
    with_masthead,
    with_question,
)
from icmodel.cli.output import (
    Answer,
    Hanging,
    Section,
    Table,
    bullets,
    check_file,
    emit,
    model_with_progress,
    progress_bar,
)
from icmodel.cli.predict import fit_notes, metric_records, shown_metrics
from icmodel.dataset import Dataset, load
from icmodel.errors import ScenarioError
from icmodel.estimate import Prediction, estimated, interval, metric_name, percent
from icmodel.questions.predicting import (
    RATES_ALONE,
    Column,
    answer_columns,
    columns_document,
    parse_rates,
    refuse_others,
)
from icmodel.questions.words import DEFAULT_DATASET, Question, given_options, split_names
from icmodel.scenario import Scenario

if TYPE_CHECKING:
    from icmodel.interconnects import Comparison

app = make_app()

ANSWERS = {
    "carries": "Take",
    "hosts open": "None surely carries it; the best undecided is",
    "hosts fail": "None carries it with measured hosts; the nearest is",
    "impossible": "None can carry it; the nearest is",
}
"""Start of the printed answer, by class of the best interconnect."""
RANKING = ("rank", "class", "wire_headroom", "host_headroom", "least_cores", "sentence")
"""CSV columns of a ranked link, after the columns of the comparison."""
MOST_NOTES = 6
"""Maximum number of note lines in ``icmodel compare`` without ``--all``."""
UseCaseName = Annotated[
    str | None,
    option(
        "usecase",
        "USECASE",
        "Use case to judge on every interconnect: a bundled name or a TOML file.",
    ),
]
Rates = Annotated[
    str | None,
    option(
        "rates",
        "RATES",
        'Rank the interconnects at these line rates, e.g. "10,25,100" [Gb/s]; needs --usecase.',
    ),
]
Why = Annotated[
    bool,
    typer.Option(
        "--why",
        help="Show the dataset and the reasons of each verdict; needs --usecase.",
    ),
]


@app.command(short_help="Compare datasets, protocols or variants side by side.")
@with_question
@with_masthead
def compare(
    *,
    usecase: UseCaseName = None,
    rates: Rates = None,
    dataset: DatasetNames = None,
    variant: VariantNames = None,
    protocol: ProtocolNames = None,
    question: Question,
    extrapolate: Extrapolate = False,
    every: Every = False,
    why: Why = False,
    head: MastheadChoice,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Answer one question with several datasets, protocols or variants, side by side.

    Repeat --dataset, --protocol or --variant, or give names with commas. Every existing combination
    is a column. A combination without an answer shows the reason. Without any answer, the command
    ends with an error.

    With --usecase, every interconnect is a row: 1 to 200 Gb/s Ethernet with TCP, UDP and ZeroMQ,
    RoCE, InfiniBand and RapidIO. A row has a verdict and its basis (kind of evidence). If the verdict
    is undecided, the row also has the measurement that would decide. The rows use all bundled
    datasets, or only those of --dataset. Exit codes: 0 at least one interconnect meets all
    requirements, 1 none does, 3 undecided.
    -o FILE writes a table or JSON, or a report with a one-page summary (.pdf, .html, .md).

    With --rates, the interconnects at these line rates are ranked, the best first. Each has a class:
    carries (meets the use case), hosts open (the wire suffices, the hosts are undecided), hosts fail
    (the wire suffices, the measured hosts do not), or impossible (the wire does not suffice). A row has
    the headroom (share of goodput to spare), the least number of cores for the use case, and the reason.

    \b
    icmodel compare --protocol tcp,udp --payload "1472 B"
    icmodel compare --variant appendix-h,corrected --payload "65535 B" --rate 6700/s
    icmodel compare --dataset ethernet-10g-2012 --dataset infiniband-qdr-connectx2 --payload "4 KiB"
    icmodel compare --usecase motion-control
    icmodel compare --usecase motion-control --dataset rapidio-tsi721 --why -o motion-control.md
    icmodel compare --usecase cameras --rates 10,25,100
    """  # noqa: D301
    cache = not no_cache
    if usecase is not None:
        others = {**question.texts(), "option": question.option, "variant": variant}
        refuse_others({**others, "protocol": protocol, "extrapolate": extrapolate, "all": every})
        names, rates_bps = split_names(dataset), None if rates is None else parse_rates(rates)
        return compare_usecase(
            usecase,
            names,
            rates_bps,
            why=why,
            head=head,
            cache=cache,
            as_json=as_json,
            output=output,
        )
    if rates is not None:
        raise ScenarioError(RATES_ALONE)
    if why:
        raise ScenarioError(
            "--why needs --usecase: add --usecase NAME, or use --all in place of --why"
        )
    for name in given_options(head):
        raise ScenarioError(f"--{name} needs --usecase: add --usecase NAME, or leave --{name} out")

    def predict(data: Dataset, variant: str, asked: Scenario) -> Prediction:
        with model_with_progress(data, variant, cache=cache) as model:
            return model.predict(asked, outside="extrapolate" if extrapolate else "refuse")

    datasets = [load(name) for name in split_names(dataset) or [DEFAULT_DATASET]]
    columns = answer_columns(
        question, datasets, split_names(protocol), split_names(variant), predict
    )
    predictions = [one.prediction for one in columns if one.prediction is not None]
    answer = Answer(
        sections=lambda: comparison_sections(columns, every=every),
        document=lambda: columns_document(columns),
        records=lambda: (line for one in predictions for line in metric_records(one)),
    )
    emit(answer, as_json=as_json, output=output)
    return 0


# --- one question -----------------------------------------------------------------------------


def comparison_sections(columns: list[Column], *, every: bool) -> Iterator[Section]:
    """Yield a comparison side by side: the questions, the metrics, and the notes of each column.

    If ``every`` is true, all metrics are shown; by default, only the main metrics.
    """
    predictions = {
        f"({number})": one
        for number, one in enumerate((c.prediction for c in columns if c.prediction), start=1)
    }
    rows = tuple(
        (number, one.dataset, one.variant, question_text(one.scenario))
        for number, one in predictions.items()
    )
    yield Section("", Table(("", "dataset", "variant", "question"), rows))

    names = dict.fromkeys(
        name
        for one in predictions.values()
        for name in (one.metrics if every else shown_metrics(one))
    )
    lines: list[tuple[str, ...]] = []
    for name in names:
        known = [one.metrics.get(name) for one in predictions.values()]
        if all(one is None or one.absent for one in known):
            continue
        cells = [
            ("–", "")
            if one is None or one.absent
            else (estimated(name, one), f"{interval(name, one)}, {one.basis}")
            for one in known
        ]
        lines.append((metric_name(name), *(value for value, _ in cells)))
        lines.append(("", *(basis for _, basis in cells)))
    lines.append(("bottleneck", *(one.bottleneck for one in predictions.values())))
    columns_of = ("metric", *predictions)
    yield Section("value, 90 % interval and basis", Table(columns_of, tuple(lines)))

    notes = [f"{number}: {note}" for number, one in predictions.items() for note in one.notes]
    if notes:
        yield Section("notes", Hanging(tuple(fit_notes(notes, math.inf if every else MOST_NOTES))))
    refused = [
        f"{one.dataset}, {one.variant}, {one.protocol}: {one.why}"
        for one in columns
        if one.prediction is None
    ]
    if refused:
        yield Section("without an answer", bullets(refused))


# --- a use case -------------------------------------------------------------------------------


def compare_usecase(
    usecase: str,
    datasets: list[str],
    rates_bps: tuple[float, ...] | None = None,
    *,
    why: bool,
    head: MastheadChoice,
    cache: bool,
    as_json: bool,
    output: Path | None,
) -> int:
    """Print or write the comparison of a use case on every interconnect, and return the exit code."""
    from icmodel.interconnects import (  # only --usecase needs this import
        compare_interconnects,
        ranked_document,
    )
    from icmodel.report import PAGE_FILES

    if output is not None:
        check_file(output, (".txt", ".json", ".csv", ".xlsx", *PAGE_FILES))
    masthead = head.masthead(output)
    with progress_bar("comparing") as watch:
        comparison = compare_interconnects(
            usecase, datasets or None, watch, rates_bps=rates_bps, cache=cache
        )
    sections = usecase_sections if rates_bps is None else ranking_sections
    answer = Answer(
        sections=lambda: sections(comparison, why=why),
        document=lambda: ranked_document(comparison),
        records=lambda: link_records(comparison),
        files=page_writers(lambda: comparison, output, masthead),
    )
    emit(answer, as_json=as_json, output=output)
    return comparison.exit_code


def ranking_sections(comparison: Comparison, *, why: bool) -> Iterator[Section]:
    """Yield a ranking of interconnects: the best one, and a table of all.

    If ``why`` is true, the reasons for each rank follow.
    """
    from icmodel.interconnects import ranked
    from icmodel.report import interconnects as words

    found = ranked(comparison)
    best = found[0]
    yield Section("", Hanging(tuple(words.headline(comparison))))
    yield Section(
        "", Hanging((f"{ANSWERS[best.kind]} {words.link_name(best.row)}: {best.sentence}.",))
    )
    rows = tuple(
        (
            str(one.rank),
            words.link_name(one.row),
            one.kind,
            one.row.source.ground,
            _headroom(one.wire_headroom),
            _headroom(one.host_headroom),
            "–" if one.least_cores is None else str(one.least_cores),
        )
        for one in found
    )
    columns = ("#", "interconnect", "class", "based on", "#wire", "#hosts", "#cores")
    yield Section(
        "headroom of the wire and of the measured hosts, least cores", Table(columns, rows)
    )
    sentences = [f"{one.rank}. {words.link_name(one.row)}: {one.sentence}" for one in found]
    yield Section("one by one", Hanging(tuple(sentences)))
    if not why:
        yield Section("", ("datasets and reasons of each link: --why",))
        return
    for one in found:
        yield Section(
            f"{words.link_name(one.row)}: {one.kind}", Hanging(tuple(words.reasons(one.row)))
        )


def _headroom(ratio: float) -> str:
    return "–" if math.isnan(ratio) else percent(ratio)


def usecase_sections(comparison: Comparison, *, why: bool) -> Iterator[Section]:
    """Yield a table with the verdict on each interconnect.

    If ``why`` is true, the datasets and the reasons of each verdict follow.
    """
    from icmodel.report import interconnects as words

    yield Section("", Hanging(tuple(words.headline(comparison))))
    columns = ("link", "#Gb/s", *words.COLUMNS[2:])
    yield Section("", Table(columns, tuple(map(words.row_cells, comparison.rows))))
    if measurements := words.measurements(comparison):
        yield Section("measurements that would decide", Hanging(tuple(measurements)))
    yield Section("rules of the comparison", Hanging(tuple(words.RULES)))
    if not why:
        yield Section("", ("datasets and reasons of each link: --why",))
        return
    for row in comparison.rows:
        yield Section(f"{words.link_name(row)}: {row.outcome}", Hanging(tuple(words.reasons(row))))


def link_records(comparison: Comparison) -> Iterator[dict[str, object]]:
    """Yield one CSV row for each compared interconnect, the best first."""
    from icmodel.interconnects import ranked

    nested = ("source", "others", "silent", "measurements")
    for one in ranked(comparison):
        row = one.row
        yield {
            **{name: value for name, value in row.to_dict().items() if name not in nested},
            "dataset": row.source.dataset,
            "choice": row.source.result.description,
            "measurements": "; ".join(row.measurements),
            **{name: one.to_dict()[name] for name in RANKING},
        }
