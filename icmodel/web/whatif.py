"""Requests and answers of the what-if page; each number is also given as text, since the page computes nothing."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from icmodel import units
from icmodel.dataset import Dataset
from icmodel.documents import number_or_none
from icmodel.errors import IcmodelError, ScenarioError, UseCaseError
from icmodel.estimate import (
    Prediction,
    UsedRow,
    estimated,
    interval,
    limit_name,
    metric_name,
    quantity,
)
from icmodel.reading import quantity_kind
from icmodel.report.verdicts import margin_text
from icmodel.requirement import Requirement, judge
from icmodel.scenario import TEXT_SPELLINGS, scenario
from icmodel.sheets import ANSWER_HEADS, Cell, answer_cells
from icmodel.web.bodies import Body, in_keys
from icmodel.web.work import warm_model

COUNTS = ("cores", "switches", "endpoints")
SHORT = Field(max_length=200)
"""Constraint on a question's text field: at most 200 characters."""
MOST_QUESTIONS = 8
"""Maximum number of questions in a request: the page's own question, four pinned ones, and three more in the plot."""
MOST_REQUIREMENTS = 12
LIMIT = re.compile(r"(?P<metric>.+?)\s*(?P<sign><=|>=|≤|≥|<|>|at most|at least)\s*(?P<limit>.+)")
AT_MOST = ("<=", "≤", "<", "at most")
ALIKE = {
    "max": "greatest",
    "maximum": "greatest",
    "min": "least",
    "cpu": "CPU",
    "receive": "receiving",
}
"""Synonyms in a requirement: word of the user -> word in the name of a metric."""
FIELDS = (
    ("payload", r"payload|\bMTU\b"),
    ("requested_goodput", r"requested.goodput"),
    ("other_goodput", r"other_goodput|other.goodput"),
    ("rate", r"\brate_fps\b|\brate\b(?! of)"),
    ("cores", r"\bcores?\b"),
    ("switches", r"\bswitch"),
    ("endpoints", r"\bendpoint"),
    ("distance", r"distance"),
    ("line_rate", r"line.rate"),
    ("cpu_clock", r"cpu_clock|CPU clock"),
    ("app_send", r"app_send|application"),
    ("app_recv", r"app_recv"),
    ("protocol", r"rows of|protocol"),
)
"""Pairs: a field of the what-if page, and the pattern with which an error message names its parameter."""


class Question(BaseModel):
    """Question as texts of the command line. An empty text stands for a missing parameter."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    dataset: str = SHORT
    variant: str = Field("", max_length=40)
    protocol: str = Field("", max_length=100)
    words: dict[str, str] = Field(
        default_factory=dict, max_length=20, description="Parameters, such as payload = 1448 B."
    )
    options: dict[str, str] = Field(default_factory=dict, max_length=20)
    extrapolate: bool = False

    @property
    def given(self) -> dict[str, str]:
        """Given parameters, as texts by name."""
        return {name: text.strip() for name, text in self.words.items() if text.strip()}

    def values(self) -> dict[str, float]:
        """Return the given parameters in SI units. The keys have the unit as suffix, such as ``payload_bytes``.

        Raises
        ------
        IcmodelError
            If a parameter does not exist, or its text is not a quantity of the right kind.
        """
        return {
            si: value
            for name, text in self.given.items()
            for si, value in parse_word(name, text).items()
        }

    def keywords(self, data: Dataset, values: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of `icmodel.scenario.scenario`: protocol, options, and the given values in SI units."""
        options = {axis: value for axis, value in self.options.items() if value}
        return {"protocol": self.protocol or data.default_protocol, **values, "options": options}


def parse_word(name: str, text: str) -> dict[str, float]:
    """Parse one parameter of a question. Return its name with the SI unit as suffix, and its number.

    Raises
    ------
    IcmodelError
        If the parameter does not exist, or the text is not a quantity of the right kind.

    Examples
    --------
    >>> parse_word("payload", "64 KiB")
    {'payload_bytes': 65536}
    """
    if name in COUNTS:
        if not re.fullmatch(r"[0-9]{1,18}", text):
            raise ScenarioError(f"{name} {text!r} is not possible: give a whole number such as 2")
        return {name: int(text)}
    if name not in TEXT_SPELLINGS:
        known = ", ".join((*TEXT_SPELLINGS, *COUNTS))
        raise ScenarioError(f"there is no parameter {name!r}: the parameters are {known}")
    si_name, parse = TEXT_SPELLINGS[name]
    return {si_name: parse(text)}


# --- answers ---------------------------------------------------------------------------------


class QuestionsBody(Body):
    """Questions to answer, and requirements in words, such as ``mean latency ≤ 100 us``."""

    questions: list[Question] = Field(min_length=1, max_length=MOST_QUESTIONS)
    requirements: list[str] = Field(default_factory=list, max_length=MOST_REQUIREMENTS)


class Metric(BaseModel):
    """Metric of an answer: numbers in SI units, and the texts of the command line."""

    name: str
    words: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    interval: str
    basis: str
    why: str


class Judged(BaseModel):
    """Requirement that a user typed (``asked`` is the text), and whether it is met (``outcome``).

    ``limit`` is in SI units. If the text cannot be parsed, ``problem`` states the reason.
    """

    asked: str
    metric: str = ""
    text: str = ""
    limit: float | None = None
    outcome: str = ""
    reason: str = ""
    problem: str = ""


class Bar(BaseModel):
    """Bar for a latency term or a goodput bound. ``share`` is its length, as a fraction of the longest bar."""

    name: str
    text: str
    share: float
    decides: bool


class RowText(BaseModel):
    """Dataset row behind an answer, with its values as texts."""

    line: int
    metric: str
    payload: str
    load: str
    value: str
    basis: str
    source: str


class Answer(BaseModel):
    """Answer to one question. If ``error`` is set, ``field`` is the wrong parameter, and there are no results."""

    dataset: str
    variant: str
    error: str = ""
    field: str = ""
    scenario: dict[str, Any] = Field(default_factory=dict)
    metrics: list[Metric] = Field(default_factory=list)
    limited_by: str = ""
    notes: list[str] = Field(default_factory=list)
    terms: list[Bar] = Field(default_factory=list)
    bounds: list[Bar] = Field(default_factory=list)
    rows: list[RowText] = Field(default_factory=list)
    verdicts: list[Judged] = Field(default_factory=list)
    command: str = ""
    python: str = ""
    sheet: str = Field("", description="A heading row and a row of values, separated by tabs.")


class Answers(BaseModel):
    """Answers in the order of their questions."""

    answers: list[Answer]


def answer(question: Question, requirements: list[str]) -> Answer:
    """Answer a question. If it has no answer, return the reason and the wrong parameter."""

    def refusal(error: IcmodelError, field: str) -> Answer:
        return Answer(
            dataset=question.dataset,
            variant=question.variant,
            error=in_keys(str(error)),
            field=field,
        )

    try:
        warm = warm_model(question.dataset, question.variant or None)
    except IcmodelError as error:
        return refusal(error, "dataset")
    values: dict[str, float] = {}
    for name, text in question.given.items():
        try:
            values |= parse_word(name, text)
        except IcmodelError as error:
            return refusal(error, name)
    try:
        asked = scenario(**question.keywords(warm.model.data, values))
        outside = "extrapolate" if question.extrapolate else "refuse"
        with warm.lock:
            found = warm.model.predict(asked, outside=outside)
    except IcmodelError as error:
        return refusal(error, field_of(str(error)))
    return Answer(
        dataset=found.dataset,
        variant=found.variant,
        scenario=found.scenario.to_dict(),
        metrics=[_metric(name, found) for name in found.metrics],
        limited_by=limited_by(found),
        notes=list(found.notes),
        terms=bars("latency_mean_s", found.terms, max),
        bounds=bars("goodput_bps", found.bounds, min),
        rows=[used_row(one) for one in found.rows],
        verdicts=[_judged(text, found) for text in requirements],
        command=command_of(question),
        python=python_of(question, found),
        sheet=row_of(question, found),
    )


# --- the parts of an answer ------------------------------------------------------------------


def _metric(name: str, found: Prediction) -> Metric:
    one = found.metrics[name]
    return Metric(
        name=name,
        words=metric_name(name),
        value=number_or_none(one.value),
        low=number_or_none(one.low),
        high=number_or_none(one.high),
        text=estimated(name, one),
        interval=interval(name, one),
        basis=one.basis,
        why=one.why,
    )


def limited_by(found: Prediction) -> str:
    """Return the bottleneck (the bound that limits the goodput) in words.

    If the bottleneck is the request, the text also has the least of the other bounds, which is the goodput that a
    greater request could reach.
    """
    name = limit_name(found.bottleneck)
    others = [(bps, bound) for bound, bps in found.bounds.items() if bound != "request"]
    if found.bottleneck == "request" and others:
        bps, bound = min(others)
        return f"{name}; at most {quantity('goodput_bps', bps, 4)} ({bound})"
    return name


def bars(metric: str, parts: Mapping[str, float], decisive: Callable[..., float]) -> list[Bar]:
    """Convert the parts of a metric (goodput bounds or latency terms) to the bars of a chart.

    ``decisive`` selects the bar to mark: ``min`` marks the least goodput bound, which limits the goodput, and ``max``
    the largest latency term.
    """
    finite = [value for value in parts.values() if math.isfinite(value)]
    longest, marked = max(finite, default=0.0), decisive(finite, default=0.0)
    return [
        Bar(
            name=name,
            text=quantity(metric, value),
            share=min(max(value / longest, 0.0), 1.0) if longest > 0 and value == value else 0.0,
            decides=value == marked,
        )
        for name, value in parts.items()
    ]


def used_row(one: UsedRow) -> RowText:
    """Return a dataset row with its values as texts."""

    def text(name: str, value: float | None) -> str:
        return "–" if value is None else quantity(name, value)

    return RowText(
        line=one.line,
        metric=metric_name(one.metric),
        payload=text("payload_bytes", one.payload_bytes),
        load=text("load_bps", one.load_bps),
        value=text(one.metric, one.value),
        basis=one.basis,
        source=one.source,
    )


# --- requirements in words -------------------------------------------------------------------


def _judged(text: str, found: Prediction) -> Judged:
    """Judge a prediction by a requirement that is given as a text, with the rules of `icmodel.requirement.judge`."""
    try:
        requirement = parse_requirement(text, tuple(found.metrics))
    except IcmodelError as error:
        return Judged(asked=text, problem=in_keys(str(error)))
    metric, limit = requirement.metric, requirement.limit
    estimate = found.metrics[metric]
    verdict = judge(requirement, estimate, found.bottleneck)
    reason = verdict.why or f"no {metric_name(metric)} is known"
    if span := interval(metric, estimate):
        reason = f"{estimated(metric, estimate)}, {span}"
        reason += f"; {verdict.why}" if verdict.why else ""
    if margin := margin_text(verdict):
        reason += f"; {margin}"
    return Judged(
        asked=text,
        metric=metric,
        text=f"{metric_name(metric)} {requirement.sign} {quantity(metric, limit)}",
        limit=limit,
        outcome=verdict.outcome,
        reason=reason,
    )


def parse_requirement(text: str, metrics: tuple[str, ...]) -> Requirement:
    """Parse a requirement in words, such as ``latency mean <= 100 us``.

    The words of the metric may be in any order; the field name of the metric also works.

    Raises
    ------
    UseCaseError, UnitError
        If the text has no comparison sign or no metric, or its limit has no unit.

    Examples
    --------
    >>> parse_requirement("latency mean <= 100 us", ("goodput_bps", "latency_mean_s"))
    Requirement(name='mean latency', metric='latency_mean_s', at_least=None, at_most=0.0001, kind='soft', source='')
    """
    match = LIMIT.fullmatch(text.strip())
    if match is None:
        raise UseCaseError(
            f"{text!r} is not a requirement: write a metric, ≤ or ≥, and a limit with its unit, such as "
            "mean latency ≤ 100 us"
        )
    words = {ALIKE.get(word.lower(), word).lower() for word in match["metric"].split()}
    named = (
        name
        for name in metrics
        if name == match["metric"] or set(metric_name(name).lower().split()) == words
    )
    metric = next(named, "latency_mean_s" if words == {"latency"} else "")
    if metric not in metrics:
        known = ", ".join(metric_name(name) for name in metrics)
        raise UseCaseError(f"{match['metric']!r} is not a metric here: use one of {known}")
    kind = quantity_kind(metric) or ("ratio" if not metric.endswith("_cores") else "count")
    limit = (
        units.parse_factor(match["limit"]) if kind == "count" else units.parse(kind, match["limit"])
    )
    at_most = match["sign"] in AT_MOST
    return Requirement(
        metric_name(metric), metric, None if at_most else limit, limit if at_most else None
    )


# --- the question for other tools ------------------------------------------------------------


def command_of(question: Question) -> str:
    """Return a command line of ``icmodel predict`` that answers the question."""
    words = ["icmodel", "predict", "--dataset", question.dataset]
    named = {"variant": question.variant, "protocol": question.protocol} | question.given
    for name, text in named.items():
        words += [f"--{name.replace('_', '-')}", text] if text else []
    for axis, value in question.options.items():
        words += ["--option", f"{axis}={value}"] if value else []
    return shlex.join([*words, *(["--extrapolate"] if question.extrapolate else [])])


def python_of(question: Question, found: Prediction) -> str:
    """Return a Python program that answers the question."""
    variant = f", variant={question.variant!r}" if question.variant else ""
    given: dict[str, object] = {"protocol": found.scenario.protocol}
    given |= {name: int(text) if name in COUNTS else text for name, text in question.given.items()}
    if options := {axis: value for axis, value in question.options.items() if value}:
        given["options"] = options
    if question.extrapolate:
        given["outside"] = "extrapolate"
    keywords = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return (
        "import icmodel\n\n"
        f"model = icmodel.Model(icmodel.load({question.dataset!r}){variant})\n"
        f"answer = model.predict({keywords})\n"
        "print(answer.goodput_bps.value, answer.bottleneck)\n"
    )


def row_of(question: Question, found: Prediction) -> str:
    """Return the question and its answer as two lines for a spreadsheet, a header and a row.

    The columns are those that ``icmodel predict --from`` writes.
    """
    cells: dict[str, Cell] = {
        "dataset": found.dataset,
        "variant": found.variant,
        "protocol": found.scenario.protocol,
    }
    cells |= question.given | {axis: value for axis, value in question.options.items() if value}
    cells |= zip(ANSWER_HEADS, answer_cells(found), strict=False)  # the last column is for reasons

    def text(cell: Cell) -> str:
        words = f"{cell:.7g}" if isinstance(cell, float) else str("" if cell is None else cell)
        return " ".join(words.split())

    return "\n".join("\t".join(map(text, row)) for row in (cells, cells.values())) + "\n"


# --- the wrong parameter ---------------------------------------------------------------------


def field_of(message: str) -> str:
    """Return the field of the what-if form that an error message names first; empty if it names none.

    Examples
    --------
    >>> field_of("cores 7 is not possible here")
    'cores'
    """
    found = ((re.search(pattern, message), name) for name, pattern in FIELDS)
    return min(((match.start(), name) for match, name in found if match), default=(0, ""))[1]
