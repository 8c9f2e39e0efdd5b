"""The answers of the what-if page: each number with its text, as the command line prints it.

The page in the browser prints these texts and computes nothing.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from icmodel.dataset import Dataset
from icmodel.documents import number_or_none
from icmodel.errors import IcmodelError, ScenarioError
from icmodel.estimate import (
    Prediction,
    UsedRow,
    estimated,
    interval,
    limit_name,
    metric_name,
    quantity,
)
from icmodel.questions.requiring import parse_requirement
from icmodel.report.verdicts import margin_text
from icmodel.requirement import judge
from icmodel.scenario import TEXT_SPELLINGS, scenario
from icmodel.sheets import ANSWERS, LIMITED_BY
from icmodel.web.bodies import Body
from icmodel.web.work import warm_model

MOST_QUESTIONS = 8
"""Greatest number of questions of one request: the own, four pinned, and others in the same plot."""
MOST_REQUIREMENTS = 12
COUNTS = ("cores", "switches", "endpoints")
SHORT = Field(max_length=200)
"""Limit of a text in a question [characters]."""


class Question(Body):
    """One question in the words of the command line; an empty text is a parameter that is not given."""

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
        """Parameters with a text, by name."""
        return {name: text.strip() for name, text in self.words.items() if text.strip()}

    def keywords(self, data: Dataset, values: Mapping[str, object]) -> dict[str, object]:
        """Keywords of a scenario or of many: protocol, options, and the given parameters in SI."""
        options = {axis: value for axis, value in self.options.items() if value}
        return {"protocol": self.protocol or data.default_protocol, **values, "options": options}


class Asked(Body):
    """Questions to answer, and requirements in words, such as ``mean latency ≤ 100 us``."""

    questions: list[Question] = Field(min_length=1, max_length=MOST_QUESTIONS)
    requirements: list[str] = Field(default_factory=list, max_length=MOST_REQUIREMENTS)


class Metric(BaseModel):
    """A metric of an answer: numbers in SI, and texts as the command line prints them."""

    name: str
    words: str
    value: float | None
    low: float | None
    high: float | None
    text: str
    interval: str
    basis: str
    why: str


class Bar(BaseModel):
    """A term of the latency or a bound of the goodput; ``share`` is a fraction of the greatest."""

    name: str
    text: str
    share: float
    decides: bool


class RowText(BaseModel):
    """A row of the dataset that an answer rests on."""

    line: int
    metric: str
    payload: str
    load: str
    value: str
    basis: str
    source: str


class Judged(BaseModel):
    """A requirement in words with its outcome; ``limit`` is in SI, and ``problem`` a refusal of the words."""

    asked: str
    metric: str = ""
    text: str = ""
    limit: float | None = None
    outcome: str = ""
    reason: str = ""
    problem: str = ""


class Answer(BaseModel):
    """Answer to one question; with an ``error`` the rest is empty, and ``field`` is the parameter at fault."""

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
    sheet: str = Field("", description="A head and a row of cells with tabs between them.")


class Answers(BaseModel):
    """Answers in the order of their questions."""

    answers: list[Answer]


def answer(question: Question, requirements: list[str]) -> Answer:
    """Answer a question; a question that cannot be answered gets the reason and the parameter at fault."""

    def refusal(error: IcmodelError, field: str) -> Answer:
        return Answer(
            dataset=question.dataset, variant=question.variant, error=str(error), field=field
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
        limited_by=_limited_by(found),
        notes=list(found.notes),
        terms=bars("latency_mean_s", found.terms, max),
        bounds=bars("goodput_bps", found.bounds, min),
        rows=[_row(one) for one in found.rows],
        verdicts=[_judged(text, found) for text in requirements],
        command=_command(question),
        python=_python(question, found),
        sheet=_sheet(question, found),
    )


def parse_word(name: str, text: str) -> dict[str, float]:
    """Parse a parameter of a question; returns its SI name with its number.

    Raises
    ------
    IcmodelError
        If there is no such parameter, or the text is no quantity of its kind.

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
"""Field of the page -> pattern of the words with which a refusal names the parameter."""


def field_of(message: str) -> str:
    """Return the field that a refusal names first; empty if the message names none.

    >>> field_of("cores 7 is not possible here")
    'cores'
    """
    found = ((re.search(pattern, message), name) for name, pattern in FIELDS)
    return min(((match.start(), name) for match, name in found if match), default=(0, ""))[1]


# --- the parts of an answer -------------------------------------------------------------------


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


def _limited_by(found: Prediction) -> str:
    """Return the bottleneck in words; a request below capacity also names the least bound above it."""
    name = limit_name(found.bottleneck)
    others = [(bps, bound) for bound, bps in found.bounds.items() if bound != "request"]
    if found.bottleneck == "request" and others:
        bps, bound = min(others)
        return f"{name}; at most {quantity('goodput_bps', bps, 4)} ({bound})"
    return name


def bars(metric: str, parts: Mapping[str, float], decisive: Callable[..., float]) -> list[Bar]:
    """Return parts as bars; ``decisive`` is ``min`` or ``max`` and chooses the part that is marked."""
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


def _row(one: UsedRow) -> RowText:
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


# --- requirements in words --------------------------------------------------------------------


def _judged(text: str, found: Prediction) -> Judged:
    """Judge a requirement in words on a prediction, by the rules of `icmodel.requirement.judge`."""
    try:
        requirement = parse_requirement(text, tuple(found.metrics))
    except IcmodelError as error:
        return Judged(asked=text, problem=str(error))
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


# --- copies for other tools -------------------------------------------------------------------


def _command(question: Question) -> str:
    """Return the command that answers the question."""
    words = ["icmodel", "predict", "--dataset", question.dataset]
    named = {"variant": question.variant, "protocol": question.protocol} | question.given
    for name, text in named.items():
        words += [f"--{name.replace('_', '-')}", text] if text else []
    for axis, value in question.options.items():
        words += ["--option", f"{axis}={value}"] if value else []
    return shlex.join([*words, *(["--extrapolate"] if question.extrapolate else [])])


def _python(question: Question, found: Prediction) -> str:
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


def _sheet(question: Question, found: Prediction) -> str:
    """Return a head and a row for a spreadsheet, with the columns of an answered sheet."""
    cells = {
        "dataset": found.dataset,
        "variant": found.variant,
        "protocol": found.scenario.protocol,
    }
    cells |= question.given | {axis: value for axis, value in question.options.items() if value}
    for one in ANSWERS:
        if one.metric in found.metrics and not (estimate := found.metrics[one.metric]).absent:
            numbers = (f"{end / one.si:.7g}" for end in estimate.ends)
            cells |= zip(one.heads, (*numbers, estimate.basis), strict=True)
    cells[LIMITED_BY] = found.bottleneck
    rows = ("\t".join(" ".join(cell.split()) for cell in row) for row in (cells, cells.values()))
    return "\n".join(rows) + "\n"
