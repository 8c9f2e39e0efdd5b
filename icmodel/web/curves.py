"""Curves of the what-if page: several questions along one parameter."""

from __future__ import annotations

from pydantic import BaseModel, Field

from icmodel.errors import IcmodelError
from icmodel.questions import curves
from icmodel.questions.curves import Axis, Curve, Form
from icmodel.questions.whatif import SHORT, Question
from icmodel.web.bodies import Body
from icmodel.web.whatif import MOST_QUESTIONS
from icmodel.web.work import warm_model


class CurvesAsked(Body):
    """Questions whose metric is drawn along one parameter."""

    questions: list[Question] = Field(min_length=1, max_length=MOST_QUESTIONS)
    over: Axis
    metric: str = SHORT
    beyond: bool = Field(False, description="Whether the payloads go on beyond the benchmarks.")


class Curves(BaseModel):
    """Curves in the order of their questions."""

    curves: list[Curve]


def form(dataset: str, variant: str, protocol: str) -> Form:
    """Return the choices and ranges of a bundled dataset; empty texts mean its defaults."""
    return curves.form(warm_model(dataset, variant or None).model, protocol)


def curve(question: Question, over: Axis, metric: str, beyond: bool = False) -> Curve:
    """Predict a metric along an axis; a question that cannot be answered gets the reason."""
    outside = "extrapolate" if question.extrapolate else "nan"
    try:
        warm = warm_model(question.dataset, question.variant or None)
        keywords = question.keywords(warm.model.data, question.values())
        with warm.lock:
            return curves.curve(warm.model, keywords, over, metric, outside, beyond=beyond)
    except IcmodelError as error:
        return Curve(error=str(error))
