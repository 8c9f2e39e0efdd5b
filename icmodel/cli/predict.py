"""``icmodel predict``: every metric of one scenario, with its basis."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from icmodel import units
from icmodel.cli.models import fitted
from icmodel.cli.output import Answer, Section, Table, emit
from icmodel.cli.question import (
    DEFAULT_DATASET,
    AsJson,
    DatasetName,
    Every,
    Extrapolate,
    NoCache,
    Output,
    ProtocolName,
    Question,
    VariantName,
    asks,
    option,
    quantity_text,
    question_text,
    room,
)
from icmodel.cli.short import candidates, short
from icmodel.dataset import load
from icmodel.documents import number_or_none
from icmodel.errors import OutOfDomain, ScenarioError
from icmodel.estimate import Estimate, Prediction, UsedRow
from icmodel.scenario import Scenario, scenario

if TYPE_CHECKING:
    from icmodel.message import Message
    from icmodel.model import Model

app = room()

MessageSize = Annotated[
    str | None, option("message", "SIZE", 'Latency of a whole message, too, e.g. "14.7 MB".')
]
MessageTime = Annotated[
    str | None,
    option("message-within", "TIME", 'It is captured and sent within that, e.g. "33 ms".'),
]
Solve = Annotated[
    str | None,
    option("solve", "WHAT", "Find the least rate, payload or cores that carry --goodput."),
]
Goodput = Annotated[str | None, option("goodput", "RATE", 'For --solve, e.g. "3.5 Gb/s".')]
Why = Annotated[bool, typer.Option("--why", help="With terms, bounds and rows.")]

SOLVABLE = ("rate", "payload", "cores")
"""Parameters that can be solved for; `icmodel.solve` has a solver of each."""
SEVERAL = 3
"""A note on this many metrics is printed once, below them."""


@app.command(short_help="One stream: every metric, and why.")
@asks
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
    no_cache: NoCache = False,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Predict goodput, latency, CPU load and loss of one stream, and what limits it.

    Each has the 90 % interval for one new run on the dataset's hosts, and what it rests on.
    --all shows every metric, --why what the mean latency is made of, what bounds the goodput and
    which rows of the dataset the answer rests on; JSON and CSV have all of it with all digits.

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
    """  # noqa: D301
    data = load(dataset)
    wanted = _wanted(solve, goodput)
    payload = "1 B" if solve == "payload" else None  # any, where the payload itself is solved for
    words = question.words(protocol or data.default_protocol, payload)
    asked = scenario(**words)
    outside = "extrapolate" if extrapolate else "refuse"
    whole_message = _message(message, message_within)
    whole = every or as_json or output is not None
    with fitted(data, variant, cache=not no_cache) as model:
        metrics = None if whole else candidates(data.metrics)
        if wanted is not None:
            asked = _solved(model, asked, *wanted)
        prediction = model.predict(asked, outside=outside, metrics=metrics)
        if whole_message is not None:
            from icmodel.message import with_message  # few ask for it

            prediction = with_message(model, prediction, whole_message)
    found = () if wanted is None else (Section("", (_least(asked, *wanted),)),)
    answer = Answer(
        sections=lambda: (*found, *_sections(prediction, every=every, why=why)),
        document=prediction.to_dict,
        records=lambda: metric_records(prediction),
    )
    emit(answer, as_json=as_json, output=output)


def _wanted(what: str | None, goodput: str | None) -> tuple[str, float] | None:
    """The parameter to solve for, and the goodput [b/s] to carry."""
    if what is None and goodput is None:
        return None
    if what is None:
        raise ScenarioError(
            f"--goodput is what --solve is to carry: add --solve with one of {', '.join(SOLVABLE)}; what a stream asks "
            "for is --requested-goodput or --rate"
        )
    if what not in SOLVABLE:
        raise ScenarioError(f"--solve {what}: name one of {', '.join(SOLVABLE)}")
    if goodput is None:
        raise ScenarioError('--solve needs the goodput to carry: --goodput "3.5 Gb/s"')
    return what, units.parse_bps(goodput)


def _least(asked: Scenario, what: str, goodput_bps: float) -> str:
    """The solution, in a line."""
    value = {
        "rate": quantity_text("rate_fps", asked.rate_fps),
        "payload": quantity_text("payload_bytes", asked.payload_bytes),
        "cores": str(asked.cores),
    }[what]
    return f"the least {what} that carries {units.format_bps(goodput_bps)}: {value}"


def _solved(model: Model, asked: Scenario, what: str, goodput_bps: float) -> Scenario:
    """The scenario with the solution; refused if there is none."""
    from icmodel.solve import SOLVERS, solved  # few ask for it

    value = SOLVERS[what](model, asked, goodput_bps)
    if value is None:
        rate, noun = units.format_bps(goodput_bps), "count of cores" if what == "cores" else what
        raise OutOfDomain(f"{model.data.id} knows of no {noun} that surely carries {rate} here")
    return solved(asked, what, value, goodput_bps)


def _message(size: str | None, within: str | None) -> Message | None:
    """The message, if one is given."""
    if size is None:
        if within is not None:
            raise ScenarioError('--message-within needs --message, its size, e.g. "14.7 MB"')
        return None
    from icmodel.message import Message

    captured = None if within is None else units.parse_seconds(within)
    return Message(units.parse_bytes(size), captured)


def _sections(prediction: Prediction, *, every: bool, why: bool) -> Iterator[Section]:
    """The short answer, or every metric; and the derivation if it is wanted."""
    yield from _all(prediction) if every else short(prediction, more=not why)
    if why:
        yield from _derivation(prediction)


def _all(prediction: Prediction) -> Iterator[Section]:
    """Every metric, the bottleneck, and every note."""
    yield Section("", (f"{prediction.dataset}, variant {prediction.variant}",))
    shared = _shared(prediction)
    yield Section(question_text(prediction.scenario), _metrics(prediction, shared))
    for number, why in shared.items():
        yield Section("", (f"{number} {why}",))
    yield Section("", (f"bottleneck: {prediction.bottleneck}",))
    if prediction.notes:
        yield Section("notes", tuple(f"- {note}" for note in prediction.notes))


def _derivation(prediction: Prediction) -> Iterator[Section]:
    """The derivation of the answer: terms, bounds and rows."""
    if prediction.terms:
        yield Section("mean latency, the sum of", _terms(prediction))
    yield Section("goodput, the least of", _bounds(prediction))
    yield Section("rows it rests on (lines of points.csv)", _rows(prediction.rows))


def _shared(prediction: Prediction) -> dict[str, str]:
    """Notes of several metrics, by their number in the table."""
    count = Counter(one.why for one in prediction.metrics.values() if one.why)
    several = [why for why, times in count.items() if times >= SEVERAL]
    return {f"[{number}]": why for number, why in enumerate(several, start=1)}


def _metrics(prediction: Prediction, shared: Mapping[str, str]) -> Table:
    numbers = {why: number for number, why in shared.items()}
    rows = tuple(
        (*_said(name, one), numbers.get(one.why, one.why))
        for name, one in prediction.metrics.items()
    )
    return Table(("metric", "#value", "#low", "#high", "basis", "note"), rows)


def _said(name: str, one: Estimate) -> tuple[str, ...]:
    """Name, value, low, high and basis of one metric, as text."""
    if one.absent:
        return (name, "–", "–", "–", "–")
    numbers = (units.format_quantity(name, number) for number in (one.value, one.low, one.high))
    return (name, *numbers, one.basis)


def _terms(prediction: Prediction) -> Table:
    terms = tuple(
        (name, units.format_seconds(seconds)) for name, seconds in prediction.terms.items()
    )
    total = units.format_seconds(math.fsum(prediction.terms.values()))
    return Table(("term", "#time"), (*terms, ("together", total)))


def _bounds(prediction: Prediction) -> Table:
    rows = tuple((name, units.format_bps(bound)) for name, bound in prediction.bounds.items())
    return Table(("bound", "#at most"), rows)


def _rows(used: tuple[UsedRow, ...]) -> Table:
    header = ("#line", "metric", "#payload", "#load", "#value", "basis", "source")
    rows = tuple(
        (
            str(row.line),
            row.metric,
            quantity_text("payload_bytes", row.payload_bytes),
            quantity_text("load_bps", row.load_bps),
            units.format_quantity(row.metric, row.value),
            row.basis,
            row.source,
        )
        for row in used
    )
    return Table(header, rows)


def metric_records(prediction: Prediction) -> Iterator[dict[str, object]]:
    """One line of CSV a metric, each with the question it answers."""
    question = prediction.scenario.to_dict()
    options = question.pop("options")
    said = dict(options) if isinstance(options, dict) else {}
    for name, one in prediction.metrics.items():
        yield {
            "dataset": prediction.dataset,
            "variant": prediction.variant,
            **question,
            "options": " ".join(f"{axis}={value}" for axis, value in said.items()),
            "metric": name,
            "value": number_or_none(one.value),
            "low": number_or_none(one.low),
            "high": number_or_none(one.high),
            "basis": one.basis,
            "why": one.why,
        }
