"""Routes of the HTTP API. Options, answers and error messages are those of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from icmodel import __version__
from icmodel.dataset import VARIANTS, Dataset, catalogue
from icmodel.errors import IcmodelError, ScenarioError
from icmodel.estimate import Prediction
from icmodel.questions import showing
from icmodel.questions.predicting import (
    RATES_ALONE,
    answer,
    answer_columns,
    columns_document,
    refuse_others,
)
from icmodel.questions.sweeping import answer_grid, grid_document, sweep_request
from icmodel.questions.words import DEFAULT_DATASET, parse_key_values, split_names
from icmodel.scenario import Scenario
from icmodel.schemas.datasets import (
    Comparison,
    DatasetDocument,
    Datasets,
    Grid,
    Ingested,
    Rows,
    Validation,
)
from icmodel.schemas.datasets import Prediction as PredictionSchema
from icmodel.schemas.parts import Part, Version
from icmodel.schemas.systems import (
    CheckedSystem,
    Recommendation,
    SystemDocument,
    SystemPrediction,
    Systems,
)
from icmodel.schemas.usecases import Evaluation, Interconnects, UseCaseDocument, UseCases
from icmodel.system import load, system_names
from icmodel.usecase import find_usecase, load_usecase, usecase_names
from icmodel.web import bodies, jobs
from icmodel.web.problems import Problem, problem_of, responses
from icmodel.web.work import Executor, check_dataset, dataset, warm_model

POSTED = (400, 408, 413, 415)
"""HTTP statuses of refusals, for requests with a body only."""
LARGEST_GRID = 4000
"""Maximum number of points of a grid. The command line allows more."""


async def refuse_unknown_query(request: Request) -> None:
    """Refuse a request whose address has a query key that the route does not know."""
    known = [one.alias for one in request.scope["route"].dependant.query_params]
    for key in request.query_params:
        if key not in known:
            fix = f"use one of {', '.join(known)}" if known else "leave it out"
            sentence = f"the query key {key[:200]!r} is unknown: {fix}"
            raise Problem(422, sentence, "urn:icmodel:InvalidRequest", key[:200])


router = APIRouter(prefix="/api/v1", dependencies=[Depends(refuse_unknown_query)])

Kind = Literal[
    "leave-one-out", "leave-a-curve-out", "leave-a-break-out", "leave-break-sizes-out", "held-out"
]


class Index(Part):
    """Version, variants, and names of datasets, use cases and systems of a server."""

    schema_version: Version
    icmodel: str
    variants: list[str]
    default_dataset: str
    datasets: list[str]
    usecases: list[str]
    systems: list[str]


class UseCaseText(UseCaseDocument):
    """Use case with its TOML text."""

    toml: str


class SystemText(SystemDocument):
    """JSON answer about a system, as `icmodel system show` gives it, with the TOML text of the system file added."""

    toml: str


class IngestedText(Ingested):
    """Result of an ingest, and the files of the dataset by name."""

    folder: dict[str, str]


class KeptValidation(Validation):
    """Scores of a validation, and the coverage that is stored with the dataset.

    Coverage is the share of left-out rows inside their predicted intervals. ``kept`` has the stored coverage of each
    model variant for each kind of fold (split into training rows and left-out rows).
    """

    kept: dict[str, Any]


def executor_of(request: Request) -> Executor:
    """Return the executor of the application: its threads and worker processes."""
    executor: Executor = request.app.state.executor
    return executor


SharedExecutor = Annotated[Executor, Depends(executor_of)]
DatasetName = Annotated[str, Path(max_length=200, examples=[DEFAULT_DATASET])]
UseCaseName = Annotated[str, Path(max_length=200, examples=["imaging"])]
SystemName = Annotated[str, Path(max_length=200, examples=["lab-direct"])]
Names = Annotated[list[str], Query(max_length=64)]


def as_json(body: bytes) -> Response:
    """Return the bytes of a JSON document as a response."""
    return Response(body, media_type="application/json")


def find_or_404(name: str, find: Callable[[str], Any]) -> Any:
    """Look up the object that a URL names, by the function ``find``. An unknown name is answered with status 404."""
    try:
        return find(name)
    except IcmodelError as error:
        raise problem_of(error, 404) from error


# --- questions --------------------------------------------------------------------------------


@router.post(
    "/predict",
    responses=responses(PredictionSchema, *POSTED),
    summary="Predict every metric of one stream, with the reasons",
)
async def predict(body: bodies.PredictBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel predict --json`."""

    def work() -> bytes:
        warm = warm_model(body.dataset, body.variant)
        with warm.lock:
            prediction, _ = answer(
                warm.model,
                body.question(),
                body.protocol,
                body.extras(),
                extrapolate=body.extrapolate,
            )
        return jobs.body_of(prediction.to_dict())

    return as_json(await executor.quick(work))


@router.post(
    "/sweep", responses=responses(Grid, *POSTED), summary="Predict a grid over any parameters"
)
async def sweep(body: bodies.SweepBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel sweep --json`, for up to 4000 points."""

    def work() -> bytes:
        warm = warm_model(body.dataset, body.variant)
        protocols = split_names(body.protocol)
        with warm.lock:
            asked = sweep_request(warm.model.data, body.question(), protocols, body.grid_options())
            if (points := asked.points(warm.model)) > LARGEST_GRID:
                raise ScenarioError(
                    f"the sweep has {points} points: ask the server for at most {LARGEST_GRID}, "
                    "or run the same question with `icmodel sweep -o grid.csv`"
                )
            grid = answer_grid(warm.model, asked)
        return jobs.body_of(grid_document(grid))

    return as_json(await executor.quick(work))


@router.post(
    "/compare",
    responses=responses(Comparison | Interconnects, *POSTED, 503),
    summary="Compare datasets, protocols or variants; or interconnects for a use case",
)
async def compare(body: bodies.CompareBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel compare --json`. With a use case, the output has a row for each interconnect."""
    names, question = split_names(body.dataset), body.question()
    if body.usecase is not None or body.toml is not None:
        others = {**question.texts(), "option": question.option, "variant": body.variant}
        refuse_others({**others, "protocol": body.protocol, "extrapolate": body.extrapolate})
        words = (body.usecase, body.toml, names, body.rates)
        return as_json(await executor.long(jobs.compare_usecase, *words))
    if body.rates is not None:
        raise ScenarioError(RATES_ALONE)

    def ask(data: Dataset, variant: str, asked: Scenario) -> Prediction:
        warm = warm_model(data.id, variant)
        with warm.lock:
            return warm.model.predict(
                asked, outside="extrapolate" if body.extrapolate else "refuse"
            )

    def work() -> bytes:
        datasets = [dataset(name) for name in names or [DEFAULT_DATASET]]
        protocols, variants = split_names(body.protocol), split_names(body.variant)
        columns = answer_columns(question, datasets, protocols, variants, ask)
        return jobs.body_of(columns_document(columns))

    return as_json(await executor.quick(work))


@router.post(
    "/evaluate",
    responses=responses(Evaluation, *POSTED, 503),
    summary="Judge a use case: met, not met or undecided",
)
async def evaluate(body: bodies.EvaluateBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel evaluate --json`."""
    words = (body.usecase, body.toml, body.dataset, body.variant, body.candidate, body.strict)
    return as_json(await executor.long(jobs.evaluate, *words))


@router.post(
    "/system",
    responses=responses(SystemPrediction, *POSTED, 503),
    summary="Predict every stream, link and device of a system",
)
async def system(body: bodies.PredictSystemBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel system predict --json`."""
    words = (body.system, body.toml, body.dataset, body.variant, body.cycles)
    return as_json(await executor.long(jobs.predict_system, *words))


@router.post(
    "/system/check",
    responses=responses(CheckedSystem, *POSTED, 503),
    summary="Check a system given as TOML text",
)
async def check_system(body: bodies.CheckBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel system check --json`."""
    return as_json(await executor.long(jobs.check_system, body.toml))


@router.post(
    "/recommend",
    responses=responses(Recommendation, *POSTED, 503),
    summary="Find designs of a system that meet its requirements",
)
async def recommend(body: bodies.SystemBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel recommend --json`."""
    words = (body.system, body.toml, body.dataset, body.variant)
    return as_json(await executor.long(jobs.recommend, *words))


@router.post(
    "/ingest",
    responses=responses(IngestedText, *POSTED, 503),
    summary="Make a dataset from other tools' results",
)
async def ingest(body: bodies.IngestBody, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel ingest --json`, with the files of the dataset under `folder`.

    The server stores nothing.
    """
    return as_json(await executor.long(jobs.ingest, *body.arguments()))


# --- lists and descriptions -------------------------------------------------------------------


@router.get("/", responses=responses(Index), summary="List the contents of this server")
async def index() -> Response:
    """List the version, the variants of the model, and the names of datasets, use cases and systems."""
    return JSONResponse(
        {
            "schema_version": 1,
            "icmodel": __version__,
            "variants": list(VARIANTS),
            "default_dataset": DEFAULT_DATASET,
            "datasets": list(catalogue()),
            "usecases": list(usecase_names()),
            "systems": list(system_names()),
        }
    )


@router.get("/datasets", responses=responses(Datasets), summary="List the bundled datasets")
async def datasets(executor: SharedExecutor) -> Response:
    """Return the output of `icmodel datasets list --json`."""

    def work() -> bytes:
        entries = [showing.dataset_entry(dataset(name)) for name in catalogue()]
        return jobs.body_of({"schema_version": 1, "datasets": entries})

    return as_json(await executor.quick(work))


@router.get(
    "/datasets/{name}",
    responses=responses(DatasetDocument, 404),
    summary="Show a dataset: axes, values, options, metrics and source",
)
async def show_dataset(name: DatasetName, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel datasets show --json`."""

    def work() -> bytes:
        return jobs.body_of(showing.dataset_document(find_or_404(name, dataset)))

    return as_json(await executor.quick(work))


@router.get(
    "/datasets/{name}/points",
    responses=responses(Rows, 404),
    summary="List rows, each with its basis and source",
)
async def points(
    name: DatasetName,
    executor: SharedExecutor,
    protocol: Names = [],  # noqa: B006
    metric: Names = [],  # noqa: B006
    option: Annotated[list[str], Query(max_length=64, description="KEY=VALUE")] = [],  # noqa: B006
) -> Response:
    """Return the output of `icmodel datasets points --json`."""

    def work() -> bytes:
        data = find_or_404(name, dataset)
        chosen = split_names(protocol), split_names(metric), parse_key_values(option)
        return jobs.body_of(showing.points_document(data, showing.select_rows(data, *chosen)))

    return as_json(await executor.quick(work))


@router.get("/usecases", responses=responses(UseCases), summary="List the bundled use cases")
async def usecases(executor: SharedExecutor) -> Response:
    """Return the output of `icmodel usecases list --json`."""

    def work() -> bytes:
        entries = [showing.usecase_entry(load_usecase(name)) for name in usecase_names()]
        return jobs.body_of({"schema_version": 1, "usecases": entries})

    return as_json(await executor.quick(work))


@router.get(
    "/usecases/{name}",
    responses=responses(UseCaseText, 404),
    summary="Show a use case, with its TOML text",
)
async def show_usecase(name: UseCaseName, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel usecases show --json`, and the TOML text under `toml`."""

    def work() -> bytes:
        case = find_or_404(name, lambda known: jobs.usecase_of(known, None))
        text = find_usecase(name).read_text(encoding="utf-8")
        return jobs.body_of({**showing.usecase_document(case), "toml": text})

    return as_json(await executor.quick(work))


@router.get("/systems", responses=responses(Systems), summary="List the bundled systems")
async def systems(executor: SharedExecutor) -> Response:
    """Return the output of `icmodel system list --json`."""

    def work() -> bytes:
        entries = [showing.system_entry(load(name)) for name in system_names()]
        return jobs.body_of({"schema_version": 1, "systems": entries})

    return as_json(await executor.quick(work))


@router.get(
    "/systems/{name}",
    responses=responses(SystemText, 404),
    summary="Show a system, with its TOML text",
)
async def show_system(name: SystemName, executor: SharedExecutor) -> Response:
    """Return the output of `icmodel system show --json`, and the TOML text under `toml`."""
    return as_json(await executor.quick(find_or_404, name, jobs.show_system))


@router.get(
    "/validation/{name}",
    responses=responses(KeptValidation, 404, 503),
    summary="Score a model on left-out rows",
)
async def validation(
    name: DatasetName,
    executor: SharedExecutor,
    variant: Annotated[str | None, Query(max_length=20)] = None,
    folds: Annotated[list[Kind], Query(max_length=8)] = [],  # noqa: B006
    most: Annotated[
        int, Query(ge=1, le=100, description="Maximum number of folds of each kind")
    ] = 12,
) -> Response:
    """Return the output of `icmodel validate --json` for a few folds.

    The key `kept` holds the coverage that is stored with the dataset.
    """
    find_or_404(name, check_dataset)
    return as_json(await executor.long(jobs.validate, name, variant, folds, most))
