"""``icmodel predict``: the metrics of one scenario, each with its basis."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from icmodel import units
from icmodel.cli.options import (
    AsJson,
    DatasetName,
    Every,
    Extrapolate,
    NoCache,
    Output,
    ProtocolName,
    VariantName,
    make_app,
    option,
    question_text,
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
    print_text,
    progress_bar,
)
from icmodel.dataset import Dataset, catalogue, load
from icmodel.documents import group_by_key, number_or_none
from icmodel.errors import ScenarioError
from icmodel.estimate import (
    Estimate,
    Prediction,
    estimated,
    interval,
    limit_name,
    metric_name,
    plural,
    quantity,
    quantity_text,
)
from icmodel.questions.predicting import Extras, answer
from icmodel.questions.words import DEFAULT_DATASET, Question, given_options
from icmodel.table import aligned

app = make_app()

MessageSize = Annotated[
    str | None,
    option("message", "SIZE", 'Also predict the latency of a whole message, e.g. "14.7 MB".'),
]
MessageTime = Annotated[
    str | None,
    option(
        "message-within",
        "TIME",
        'Time over which the frames of the message are sent, e.g. "33 ms"; needs --message.',
    ),
]
Solve = Annotated[
    str | None,
    option(
        "solve",
        "PARAMETER",
        "Find the least value of this parameter (rate, payload or cores) that reaches --goodput.",
    ),
]
Goodput = Annotated[
    str | None,
    option(
        "goodput", "RATE", 'Goodput that the stream must reach, e.g. "3.5 Gb/s"; needs --solve.'
    ),
]
Why = Annotated[
    bool,
    typer.Option("--why", help="Show latency terms, goodput bounds and the dataset rows used."),
]
Scenarios = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="FILE",
        help="Answer each row of a CSV or XLSX file of scenarios; needs -o FILE.",
    ),
]
Template = Annotated[
    Path | None,
    typer.Option(
        "--template",
        metavar="FILE",
        help="Write a CSV or XLSX template to fill in with scenarios and answer with --from.",
    ),
]
REFUSED = 2
"""Exit code of ``--from`` if a scenario of the file has no answer."""


@app.command(short_help="Predict one stream: every metric, and why.")
@with_question
def predict(
    *,
    dataset: DatasetName = DEFAULT_DATASET,
    variant: VariantName = None,
    protocol: ProtocolName = None,
    question: Question,
    extrapolate: Extrapolate = False,
    message: MessageSize = None,
    message_within: MessageTime = None,
    solve: Solve = None,
    goodput: Goodput = None,
    every: Every = False,
    why: Why = False,
    scenarios: Scenarios = None,
    template: Template = None,
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> int:
    """Predict goodput, latency, CPU load, loss and bottleneck of one stream.

    Each metric has a 90 % interval for one new run on the dataset's hosts, and a basis: the kind of
    evidence, from measured to extrapolated. --all shows every metric. --why shows the terms of the
    mean latency, the bounds of the goodput, and the dataset rows behind the prediction. JSON and CSV
    hold all numbers with all digits.

    \b
    icmodel predict --payload "1448 B"
    icmodel predict --payload "1448 B" --rate 6700/s --all --why
    icmodel predict --protocol tcp --payload "65535 B" --rate 6700/s --cores 4 \\
        --switches 1 --endpoints 2 --other-goodput "3.6 Gb/s"
    icmodel predict --protocol udp --payload "8 KiB" --requested-goodput "5 Gb/s" --json
    icmodel predict --payload "256 B" --option nagle=off -o small.csv
    icmodel predict --payload "65535 B" --cores 4 --solve rate --goodput "3.54 Gb/s"
    icmodel predict --solve payload --goodput "5 Gb/s"
    icmodel predict --payload "65535 B" --message "14.7 MB" --message-within "33 ms"
    icmodel predict --template my-scenarios.xlsx
    icmodel predict --from my-scenarios.xlsx -o answers.xlsx
    """  # noqa: D301
    data = load(dataset)
    if scenarios is not None or template is not None:
        way = "--from" if template is None else "--template"
        if protocol is not None or given_options(question):
            raise ScenarioError(
                f"with {way}, parameters such as --payload are columns of the file: leave such options out, and fill "
                "in the columns"
            )
        others: dict[str, object] = {
            "--message": message,
            "--message-within": message_within,
            "--solve": solve,
            "--goodput": goodput,
            "--all": every,
            "--why": why,
            "--json": as_json,
        }
        if template is not None:
            others |= {"--from": scenarios, "-o": output}
        refuse_options(way, others)
    if template is not None:
        return empty_sheet(template, data)
    if scenarios is not None:
        return answer_rows(
            scenarios, output, data, variant, extrapolate=extrapolate, cache=not no_cache
        )
    complete = every or as_json or output is not None
    metrics = None if complete else tuple(name for name in data.metrics if name in SHORT_METRICS)
    with model_with_progress(data, variant, cache=not no_cache) as model:
        prediction, solution = answer(
            model,
            question,
            protocol,
            Extras(message, message_within, solve, goodput),
            extrapolate=extrapolate,
            metrics=metrics,
        )

    def sections() -> Iterator[Section]:
        if solution:
            yield Section("", (solution,))
        yield from full_sections(prediction) if every else short_sections(prediction, more=not why)
        if why:
            yield from reasons(prediction)

    printed = Answer(sections, prediction.to_dict, lambda: metric_records(prediction))
    emit(printed, as_json=as_json, output=output)
    return 0


def refuse_options(option: str, excluded: Mapping[str, object]) -> None:
    """Raise ScenarioError if the user gave an option that cannot be combined with ``option``, such as ``--from``.

    ``excluded`` maps each such option to its value, which is false if the option was not given.
    """
    given = [name for name, value in excluded.items() if value]
    if given:
        raise ScenarioError(f"{given[0]} cannot be combined with {option}: give only one")


def empty_sheet(path: Path, data: Dataset) -> int:
    """Write an empty table of scenarios, and print the next command. An existing file is never overwritten."""
    from icmodel.sheets import write_template  # rarely needed

    if path.exists():
        raise ScenarioError(f"{path} already exists: choose another name")
    write_template(path, (data.id, *catalogue()), data.protocols)
    print_text(
        f"{path}: fill in a row for each scenario, then "
        f"`icmodel predict --from {shlex.quote(str(path))} -o FILE`\n"
    )
    return 0


def answer_rows(
    scenarios: Path,
    output: Path | None,
    data: Dataset,
    variant: str | None,
    *,
    extrapolate: bool,
    cache: bool,
) -> int:
    """Answer each row of a file of scenarios, write the answers to ``output``, and return the exit code.

    Raises
    ------
    ScenarioError
        If ``output`` is ``None``, so that the answers have no file.
    """
    from icmodel.sheets import answer_sheet, read_sheet, write_sheet  # rarely needed

    if output is None:
        raise ScenarioError("--from needs a file for the answers: add -o answers.xlsx")
    check_file(output, (".csv", ".xlsx"))
    sheet = read_sheet(scenarios)
    with progress_bar("rows") as watch:
        answered = answer_sheet(
            sheet, data, variant, extrapolate=extrapolate, cache=cache, progress=watch
        )
    write_sheet(answered, output)
    refused = sum(row[-1] is not None for row in answered.rows)
    print_text(
        f"{output}: {plural(len(answered.rows), 'row')}, {refused or 'none'} without an answer\n"
    )
    return REFUSED if refused else 0


# --- the short answer -------------------------------------------------------------------------

LINES = 20
"""Maximum number of lines that ``icmodel predict`` prints as a short answer on a terminal."""
_TIMES = ("latency", "rtt_half", "rtt")
SLOTS: tuple[tuple[str, ...], ...] = (
    ("goodput_bps", "frames_per_s"),
    tuple(f"{time}_{statistic}_s" for statistic in ("mean", "p50") for time in _TIMES),
    tuple(f"{time}_{statistic}_s" for statistic in ("p99", "max") for time in _TIMES),
    ("message_latency_s",),
    ("message_latency_paced_s",),
    ("cpu_send", "cpu_send_cores", "cpu_send_process_cores"),
    ("cpu_recv", "cpu_recv_cores", "cpu_recv_process_cores"),
    ("loss_rate",),
)
"""Slots (lines) of the short answer. A slot shows the first of its metrics with a value."""
SHORT_METRICS = frozenset(metric for slot in SLOTS for metric in slot)
"""Metrics that the short answer may show."""
MORE = "every metric: --all; terms, bounds and rows: --why"


def short_sections(prediction: Prediction, *, more: bool = True) -> Iterator[Section]:
    """Yield the short answer, of at most `LINES` lines: question, main metrics, bottleneck, and notes.

    Notes that do not fit are counted. If ``more`` is true, a last line names the options for more output.
    """
    head = (
        question_text(prediction.scenario),
        f"{prediction.dataset}, variant {prediction.variant}",
    )
    yield Section("", Hanging(head))

    shown = shown_metrics(prediction)
    body = aligned(
        [
            (metric_name(name), estimated(name, one), interval(name, one), one.basis)
            for name, one in shown.items()
        ]
    )
    if limit := limit_name(prediction.bottleneck):
        others = [(bps, name) for name, bps in prediction.bounds.items() if name != "request"]
        line = f"limited by {limit}"
        if prediction.bottleneck == "request" and others:
            bps, name = min(others, key=lambda other: other[0])
            line += f"; at most {quantity('goodput_bps', bps, 4)} ({name})"
        body.append(line)
    yield Section("", tuple(body))

    # Two empty lines and the last line take three more lines.
    room = LINES - len(Hanging(head).lines()) - len(body) - 3
    reasons = ((one.why, metric_name(name)) for name, one in shown.items() if one.why)
    why = [f"{', '.join(names)}: {why}" for why, names in group_by_key(reasons).items()]
    last = [*fit_notes([*prediction.notes, *why], room), *([MORE] if more else [])]
    if last:
        yield Section("", Hanging(tuple(last)))


def shown_metrics(prediction: Prediction) -> dict[str, Estimate]:
    """Return the metrics of a short answer, at most one for each line.

    `SLOTS` lists the candidates for each line, such as the mean and the median latency. The first candidate with a
    value is shown. The latency of a whole message is predicted only on request. Then it is shown even if it is unknown.
    """
    known = {
        name: one
        for name, one in prediction.metrics.items()
        if not one.absent or name.startswith("message_latency_")
    }
    chosen = (next((name for name in slot if name in known), None) for slot in SLOTS)
    return {name: known[name] for name in chosen if name is not None}


def fit_notes(notes: Iterable[str], most_lines: float) -> Iterator[str]:
    """Yield notes as list items, in at most ``most_lines`` lines of 100 characters.

    If notes are left out, the last item states their number.
    """
    items = bullets(notes)
    used = 0
    for place, item in enumerate(items):
        last, lines = place == len(items) - 1, len(Hanging((item,)).lines())
        if used + lines > most_lines - (0 if last else 1):
            yield f"- and {len(items) - place} more: --all"
            return
        used += lines
        yield item


# --- the full answer --------------------------------------------------------------------------

SHARED = 3
"""If at least this number of metrics share a note, the note is printed once, below the table."""


def full_sections(prediction: Prediction) -> Iterator[Section]:
    """Yield the full answer: all metrics with interval and basis, bottleneck, and all notes."""
    yield Section("", (f"{prediction.dataset}, variant {prediction.variant}",))

    counts = Counter(one.why for one in prediction.metrics.values() if one.why)
    shared = [why for why, count in counts.items() if count >= SHARED]
    numbers = {why: f"[{number}]" for number, why in enumerate(shared, start=1)}
    rows = []
    for name, one in prediction.metrics.items():
        values = ["–"] * 4
        if not one.absent:
            values = [units.format_quantity(name, n) for n in (one.value, one.low, one.high)]
            values.append(one.basis)
        rows.append((name, *values, numbers.get(one.why, one.why)))
    columns = ("metric", "#value", "#low", "#high", "basis", "note")
    yield Section(question_text(prediction.scenario), Table(columns, tuple(rows)))

    for why, number in numbers.items():
        yield Section("", (f"{number} {why}",))
    yield Section("", (f"bottleneck: {prediction.bottleneck}",))
    if prediction.notes:
        yield Section("notes", bullets(prediction.notes))


def reasons(prediction: Prediction) -> Iterator[Section]:
    """Yield tables that explain a prediction: latency terms, goodput bounds, and the dataset rows used."""
    if prediction.terms:
        terms = {**prediction.terms, "together": math.fsum(prediction.terms.values())}
        rows = tuple((name, units.format_seconds(time)) for name, time in terms.items())
        yield Section("mean latency, the sum of", Table(("term", "#time"), rows))

    rows = tuple((name, units.format_bps(bound)) for name, bound in prediction.bounds.items())
    yield Section("goodput, the least of", Table(("bound", "#at most"), rows))

    used = tuple(
        (
            str(row.line),
            row.metric,
            quantity_text("payload_bytes", row.payload_bytes),
            quantity_text("load_bps", row.load_bps),
            units.format_quantity(row.metric, row.value),
            row.basis,
            row.source,
        )
        for row in prediction.rows
    )
    columns = ("#line", "metric", "#payload", "#load", "#value", "basis", "source")
    yield Section("dataset rows used (lines of points.csv)", Table(columns, used))


def metric_records(prediction: Prediction) -> Iterator[dict[str, object]]:
    """Yield one CSV row for each predicted metric, with the parameters of the question."""
    question = prediction.scenario.to_dict()
    options = dict(prediction.scenario.options)
    for name, one in prediction.metrics.items():
        yield {
            "dataset": prediction.dataset,
            "variant": prediction.variant,
            **question,
            "options": " ".join(f"{axis}={value}" for axis, value in options.items()),
            "metric": name,
            "value": number_or_none(one.value),
            "low": number_or_none(one.low),
            "high": number_or_none(one.high),
            "basis": one.basis,
            "why": one.why,
        }
