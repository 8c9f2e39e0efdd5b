"""Routes of the pages, besides those of the HTTP API.

A thread answers the what-if page within milliseconds, with a model in memory. A worker process makes reports.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from icmodel.report import system_drawing as drawing
from icmodel.schemas.parts import MistakeText
from icmodel.web import reports
from icmodel.web.api import (
    POSTED,
    IngestedText,
    SharedExecutor,
    as_json,
    find_or_404,
    refuse_unknown_query,
)
from icmodel.web.bodies import DATASET, Body, CheckBody, IngestBody, Toml, Word
from icmodel.web.curves import Curves, CurvesBody, Form, curve, form
from icmodel.web.problems import responses
from icmodel.web.whatif import Answers, QuestionsBody, answer
from icmodel.web.work import check_dataset

router = APIRouter(
    prefix="/api/v1/pages", tags=["pages"], dependencies=[Depends(refuse_unknown_query)]
)
Name = Annotated[str, Query(max_length=200)]


class Section(Body):
    """Section of a page: a title, and blocks as in the reports. Each block states its kind."""

    anchor: str
    title: str
    blocks: list[dict[str, Any]]


class Page(Body):
    """Content of a report as a page: the answer first, then the sections."""

    title: str
    question: str
    basis: str
    outcome: str
    sentence: str
    parts: list[tuple[str, str]]
    sections: list[Section]


class Refused(Body):
    """Refusal of a TOML text: the error message of the command line, and every mistake with its line."""

    error: str
    mistakes: list[MistakeText]


class UseCasePage(Page):
    """Page of a use case, and the names of its candidates."""

    candidate: str
    candidates: list[str]


class SystemPage(Page):
    """Page of a system: its drawing (SVG), and for each stream the indices of its cables and boxes in the drawing."""

    svg: str
    streams: list[dict[str, Any]]


class UseCaseBody(Body):
    """TOML text of a use case, and options of its evaluation."""

    toml: Toml
    dataset: Word = DATASET
    candidate: str = Field("", max_length=200)
    strict: bool = False


class ComparisonBody(Body):
    """Use case for which interconnects are compared: the name of a bundled use case, or its TOML text."""

    usecase: Word | None = None
    toml: Toml | None = None


class ValidationBody(Body):
    """Request to validate a variant of the model on a dataset; by default, the dataset's default variant."""

    dataset: Word
    variant: str = Field("", max_length=40)


# --- the what-if page -------------------------------------------------------------------------


@router.post(
    "/answers",
    responses=responses(Answers, *POSTED),
    summary="Answer what-if questions: numbers as texts, verdicts and reasons",
)
async def answers(asked: QuestionsBody, executor: SharedExecutor) -> Answers:
    """Answer up to eight questions. A question without an answer gets the reason instead."""
    questions = [(one, asked.requirements) for one in asked.questions]
    return await executor.quick(lambda: Answers(answers=[answer(*one) for one in questions]))


@router.post(
    "/curves",
    responses=responses(Curves, *POSTED),
    summary="Predict the curve of a metric along payload, load or cores",
)
async def curves(asked: CurvesBody, executor: SharedExecutor) -> Curves:
    """Predict a metric along one parameter, with the benchmarked points."""
    wanted = (asked.over, asked.metric, asked.beyond)
    return await executor.quick(
        lambda: Curves(curves=[curve(one, *wanted) for one in asked.questions])
    )


@router.get("/form", responses=responses(Form, 404), summary="List choices and ranges of a dataset")
async def show_form(
    dataset: Name, executor: SharedExecutor, variant: Name = "", protocol: Name = ""
) -> Form:
    """List protocols, variants, options, and the range of each parameter."""
    find_or_404(dataset, check_dataset)
    return await executor.quick(form, dataset, variant, protocol)


# --- reports ----------------------------------------------------------------------------------


@router.post(
    "/usecase",
    summary="Judge a use case given as TOML text",
    responses=responses(UseCasePage | Refused, *POSTED, 503),
)
async def usecase(body: UseCaseBody, executor: SharedExecutor) -> Response:
    """Judge a use case. If its text is wrong, return every mistake with its line."""
    words = (body.toml, body.dataset, body.candidate, body.strict)
    return as_json(await executor.long(reports.usecase_page, *words))


@router.post(
    "/system",
    summary="Predict a system given as TOML text",
    responses=responses(SystemPage | Refused, *POSTED, 503),
)
async def system(body: CheckBody, executor: SharedExecutor) -> Response:
    """Predict and draw a system. If its text is wrong, return every mistake with its line."""
    return as_json(await executor.long(reports.system_page, body.toml))


@router.post(
    "/compare",
    summary="Judge a use case on every interconnect",
    responses=responses(Page | Refused, *POSTED, 503),
)
async def compare(body: ComparisonBody, executor: SharedExecutor) -> Response:
    """Rank the interconnects for a use case, with reasons.

    If the text of the use case is wrong, return every mistake with its line.
    """
    return as_json(await executor.long(reports.compare_page, body.usecase, body.toml))


@router.post(
    "/ingest",
    summary="Make a dataset from other tools' results",
    responses=responses(IngestedText | Refused, *POSTED, 503),
)
async def ingest(body: IngestBody, executor: SharedExecutor) -> Response:
    """Answer like /api/v1/ingest. If no file can be used, return the reason."""
    return as_json(await executor.long(reports.ingested, *body.arguments()))


@router.get("/dataset", summary="Show a dataset as a page", responses=responses(Page, 404))
async def dataset(id: Name, executor: SharedExecutor) -> Response:  # noqa: A002
    """Show metrics, ranges, coverage, hosts and sources of a dataset."""
    find_or_404(id, check_dataset)
    return as_json(await executor.quick(reports.dataset_page, id))


@router.post(
    "/validation",
    summary="Leave rows out and predict them",
    responses=responses(Page, *POSTED, 503),
)
async def validation(body: ValidationBody, executor: SharedExecutor) -> Response:
    """Score a model on left-out rows: errors, coverage, and the worst points."""
    return as_json(await executor.long(reports.validation_page, body.dataset, body.variant))


# --- style sheet of drawings ------------------------------------------------------------------

styles = APIRouter()


@styles.get("/drawing.css", include_in_schema=False)
async def drawing_styles() -> Response:
    """Return the style sheet of system drawings. Reports contain the same styles inline."""
    return Response(drawing.STYLES.read_text(encoding="utf-8"), media_type="text/css")
