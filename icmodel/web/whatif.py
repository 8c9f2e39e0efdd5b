"""Answers of the what-if page: each number also as text, and curves along one parameter.

The page in the browser prints these texts and computes nothing.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from icmodel.documents import number_or_none
from icmodel.errors import IcmodelError
from icmodel.estimate import Prediction, estimated, interval, metric_name, quantity
from icmodel.questions import curves
from icmodel.questions.curves import Axis, Curve, Form
from icmodel.questions.whatif import (
    SHORT,
    Bar,
    Question,
    RowText,
    bars,
    command_of,
    field_of,
    limited_by,
    parse_requirement,
    parse_word,
    python_of,
    row_of,
    used_row,
)
from icmodel.report.verdicts import margin_text
from icmodel.requirement import judge
from icmodel.scenario import scenario
from icmodel.web.bodies import Body, in_keys
from icmodel.web.work import warm_model

MOST_QUESTIONS = 8
"""Maximum number of questions in a request: the page's own question, four pinned ones, and three more in the plot."""
MOST_REQUIREMENTS = 12


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
    """Requirement of a user (``asked``, as typed), and its outcome.

    ``limit`` is in SI units. If the typed text cannot be parsed, ``problem`` is the reason.
    """

    asked: str
    metric: str = ""
    text: str = ""
    limit: float | None = None
    outcome: str = ""
    reason: str = ""
    problem: str = ""


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


# --- requirements in words --------------------------------------------------------------------


def _judged(text: str, found: Prediction) -> Judged:
    """Judge a prediction by a requirement in words, with the rules of `icmodel.requirement.judge`."""
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


class CurvesBody(Body):
    """Request for curves: questions, a metric, and the parameter along which it is drawn."""

    questions: list[Question] = Field(min_length=1, max_length=MOST_QUESTIONS)
    over: Axis
    metric: str = SHORT
    beyond: bool = Field(False, description="Whether to add payloads beyond the benchmarked ones.")


class Curves(BaseModel):
    """Curves in the order of their questions."""

    curves: list[Curve]


def form(dataset: str, variant: str, protocol: str) -> Form:
    """Return the choices and ranges of a bundled dataset. An empty argument stands for its default."""
    return curves.form(warm_model(dataset, variant or None).model, protocol)


def curve(question: Question, over: Axis, metric: str, beyond: bool = False) -> Curve:
    """Predict a metric along an axis. If the question has no answer, return the reason."""
    outside = "extrapolate" if question.extrapolate else "nan"
    try:
        warm = warm_model(question.dataset, question.variant or None)
        keywords = question.keywords(warm.model.data, question.values())
        with warm.lock:
            return curves.curve(warm.model, keywords, over, metric, outside, beyond=beyond)
    except IcmodelError as error:
        return Curve(error=in_keys(str(error)))
